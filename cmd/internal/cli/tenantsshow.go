package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
)

type tenantsListOptions struct {
	*factory
	Text, Sort string
	Most       int
}

func newTenantsListCmd(f *factory) *cobra.Command {
	o := &tenantsListOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "Show tenants with their limits, keys and what they used today",
		Long:  "Shows those that somebody made here, configured, gave a key, or that made calls today. Days are those that\nmoney is counted by (spend.zone).",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Text = firstArg(args)
			return f.withBook(cmd.Context(), func(_ *backend, book *tenants.Book) error { return o.run(cmd.Context(), book) })
		},
	}
	cmd.Flags().StringVar(&o.Sort, "sort", tenants.ByName, "by `WHAT`: name or spend (of today)")
	cmd.Flags().IntVar(&o.Most, "most", 50, "how many to show")
	f.addOutputFlag(cmd)
	return cmd
}

func (o *tenantsListOptions) run(ctx context.Context, book *tenants.Book) error {
	if err := oneOf("--sort", o.Sort, tenants.ByName, tenants.BySpend); err != nil {
		return &usageError{err}
	}
	if o.Most < 1 || o.Most > 100_000 {
		return usageErrorf("--most %d: want 1 to 100000", o.Most)
	}
	p, err := book.List(ctx, tenants.ListQuery{Text: o.Text, Sort: o.Sort, Limit: o.Most, Fresh: true})
	if err != nil {
		return err
	}
	t := newTable("TENANT", "LIMITS", "KEYS", "TEAMS", "CALLS", "TOKENS", "REFUSED", "OWN LIMIT", "SPENT TODAY", "NOTE").numeric(2, 3, 4, 5, 6, 7, 8)
	for _, s := range p.Tenants {
		name, r := s.Name, tenantRow(s)
		if s.Stopped {
			name += " (stopped)"
		}
		t.row(name, r.Limits, s.Keys, s.Teams, number(r.Calls), number(r.Tokens), number(r.Refused), number(r.OwnLimit), usd(r.Spent), s.Note)
	}
	if o.opts.output == "table" {
		t.narrow(40, "TENANT", "LIMITS")
		t.fold(100, "LIMITS")
	}
	if len(p.Tenants) == 0 {
		o.say("no tenant%s; `nightshift tenants set acme --rpm 300` makes one", map[bool]string{true: " with that"}[o.Text != ""])
	}
	if p.Tenants == nil {
		p.Tenants = []tenants.Summary{}
	}
	if err := o.print(t, p.Tenants); err != nil {
		return err
	}
	if p.More {
		o.say("and %s more: --most %d", humanize.Comma(int64(p.Found-len(p.Tenants))), p.Found)
	}
	return nil
}

// tenantShown is a tenant with its teams and keys, as `tenants show` has them.
type tenantShown struct {
	*tenants.Account
	Teams []*tenants.Account `json:"teams"`
	Keys  []tenants.Key      `json:"keys"`
}

func newTenantsShowCmd(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show TENANT[/TEAM]",
		Short: "Show what a tenant or team may use and uses now, its teams and its keys",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := tenantRef(args[0])
			if err != nil {
				return err
			}
			return f.withBook(cmd.Context(), func(_ *backend, book *tenants.Book) error { return f.showTenant(cmd.Context(), book, r) })
		},
	}
	f.addOutputFlag(cmd)
	return cmd
}

func (f *factory) showTenant(ctx context.Context, book *tenants.Book, r tenants.Ref) error {
	a, err := book.Show(ctx, r)
	if err != nil {
		return noTenant(ctx, book, r, err)
	}
	v := tenantShown{Account: a, Teams: []*tenants.Account{}, Keys: []tenants.Key{}}
	keys, err := book.ListKeys(ctx, r.Tenant)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if r.Team == "" || k.Team == r.Team {
			v.Keys = append(v.Keys, k)
		}
	}
	if r.Team == "" {
		if v.Teams, err = book.Teams(ctx, r.Tenant); err != nil {
			return err
		}
	}
	if f.opts.output != "table" {
		return f.print(v.limitTable(), v)
	}
	v.show(f)
	return nil
}

func (v tenantShown) show(f *factory) {
	fmt.Fprintln(f.Out, v.head(f.now()))
	section(f.Out, "limits", v.limitTable())
	if len(v.Teams) > 0 {
		t := newTable("TEAM", "LIMITS", "KEYS", "NOTE").numeric(2)
		for _, x := range v.Teams {
			t.row(stoppedName(x.Name, x.Stopped), enforcedWords(x.Enforced), x.Keys, x.Note)
		}
		section(f.Out, "teams", t)
	}
	if len(v.Keys) > 0 {
		t := newTable("KEY", "NAME", "TEAM", "CLASS", "LIMITS", "STATE")
		for _, k := range v.Keys {
			t.row(k.ID, k.Name, k.Team, k.Class, enforcedWords(k.Enforced), tenantKey(k, f.now()).State)
		}
		t.narrow(30, "LIMITS")
		t.fold(100, "LIMITS")
		section(f.Out, "keys", t)
	}
}

func stoppedName(name string, s *tenants.Stop) string {
	if s != nil {
		return name + " (stopped)"
	}
	return name
}

// head is what there is to say first.
func (v tenantShown) head(now time.Time) string {
	out := []string{v.Name}
	if v.Tenant != "" {
		out[0] = v.Tenant + "/" + v.Name
	}
	if v.Note != "" {
		out = append(out, v.Note)
	}
	if v.Weight != nil {
		out = append(out, fmt.Sprintf("weight %d among those who wait", *v.Weight))
	}
	if s := v.Stopped; s != nil {
		out = append(out, fmt.Sprintf("STOPPED by %s since %s: one call a minute until the stop is lifted on the dashboard", s.By, clock(s.At, now)))
	}
	if !v.Changed.IsZero() {
		out = append(out, fmt.Sprintf("changed %s by %s", clock(v.Changed, now), v.ChangedBy))
	}
	return strings.Join(out, "; ")
}

func (v tenantShown) limitTable() *dataTable {
	t := newTable("LIMIT", "USED", "ENFORCED", "FROM").numeric(1, 2)
	for _, e := range v.Enforced {
		name, _ := tenants.Shorthand(e.Name)
		used := "?"
		if e.Used != nil {
			used = valueText(limiter.Override{Name: name, Value: *e.Used})
		}
		t.row(name, used, valueText(limiter.Override{Name: name, Value: e.Amount}), e.From)
	}
	return t
}
