package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
)

type tenantsSetOptions struct {
	*factory
	Note   string
	Weight string
	Limits map[string]*string // by name
	By     string
}

func newTenantsSetCmd(f *factory) *cobra.Command {
	o := &tenantsSetOptions{factory: f, Limits: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "set TENANT[/TEAM] [--rpm 300] [--burst 20] [--usd-per-day 25]",
		Short: "Make a tenant or team, or change what it may use; what was used stays used",
		Long: "Makes what is not there, and changes only what is given; in force in all processes within a second, and\n" +
			"restarts keep it. --LIMIT none takes a limit away although the configuration has one; --LIMIT default\n" +
			"lets the configuration hold again.",
		Example: "  nightshift tenants set acme --note \"the shop\" --rpm 300 --usd-per-day 25 --weight 3\n" +
			"  nightshift tenants set acme/web --burst 20\n" +
			"  nightshift tenants set acme --rpm default",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := tenantRef(args[0])
			if err != nil {
				return err
			}
			return f.withBook(cmd.Context(), func(_ *backend, book *tenants.Book) error { return o.run(cmd, book, r) })
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&o.Note, "note", "", "`TEXT` for operators; none takes it away")
	fl.StringVar(&o.Weight, "weight", "", "its share among those who wait, `1` to 1000, or default")
	for _, name := range tenants.LimitNames() {
		short, _ := tenants.Shorthand(name)
		usage := limitUsage(short)
		if name == "burst" {
			usage = "calls at once, `AMOUNT` of its own (the limiter's concurrency)"
		}
		o.Limits[name] = fl.String(tenantFlag(name), "", usage)
	}
	fl.StringVar(&o.By, "by", operator(), "who does it, for those who see it")
	f.addOutputFlag(cmd)
	return cmd
}

// tenantFlag is a limit's flag: --usd-per-day, --burst.
func tenantFlag(name string) string {
	if name == "burst" {
		return name
	}
	short, _ := tenants.Shorthand(name)
	return limitFlag(short)
}

func (o *tenantsSetOptions) run(cmd *cobra.Command, book *tenants.Book, r tenants.Ref) error {
	ctx := cmd.Context()
	var was tenants.Account
	cond := tenants.Condition{Absent: true}
	a, err := book.Show(ctx, r)
	switch {
	case err == nil:
		was, cond = *a, tenants.Condition{Tags: []string{a.Tag}}
	case !errors.Is(err, tenants.ErrNotThere):
		return err
	}
	d, err := o.draft(cmd, was)
	if err != nil {
		return err
	}
	is, made, err := book.Put(ctx, o.By, r, d, cond)
	if err != nil {
		return err
	}
	return o.tell(r, &was, is, made)
}

// draft is what the flags make of what there is.
func (o *tenantsSetOptions) draft(cmd *cobra.Command, was tenants.Account) (tenants.Draft, error) {
	d := tenants.Draft{Note: was.Note, Terms: was.Terms}
	d.Limits = maps.Clone(d.Limits)
	if d.Limits == nil {
		d.Limits = tenants.Limits{}
	}
	changed := cmd.Flags().Changed
	if changed("note") {
		if d.Note = o.Note; o.Note == limiter.None {
			d.Note = ""
		}
	}
	if changed("weight") {
		d.Weight = nil
		if o.Weight != "default" {
			n, err := strconv.ParseInt(o.Weight, 10, 64)
			if err != nil {
				return d, usageErrorf("--weight %s: want 1 to 1000, or default", o.Weight)
			}
			d.Weight = &n
		}
	}
	for _, name := range tenants.LimitNames() {
		if !changed(tenantFlag(name)) {
			continue
		}
		if err := readTenantLimit(d.Limits, name, *o.Limits[name]); err != nil {
			return d, err
		}
	}
	return d, nil
}

func readTenantLimit(limits tenants.Limits, name, text string) error {
	if text == "default" {
		delete(limits, name)
		return nil
	}
	short, _ := tenants.Shorthand(name)
	x := limiter.Override{Node: "tenant/", Name: short}
	if err := readValue(&x, text); err != nil {
		return usageErrorf("--%s %s: %s", tenantFlag(name), text, wanted(&x))
	}
	if limits[name] = nil; x.Text != limiter.None {
		limits[name] = &x.Value
	}
	return nil
}

// tell says what it was and is.
func (o *tenantsSetOptions) tell(r tenants.Ref, was, is *tenants.Account, made bool) error {
	v := tenantShown{Account: is}
	if o.opts.output != "table" {
		return o.print(v.limitTable(), is)
	}
	fmt.Fprintln(o.Out, v.head(o.now()))
	t := newTable("LIMIT", "WAS", "IS", "FROM").numeric(1, 2)
	before := map[string]string{}
	for _, e := range was.Enforced {
		before[e.Name] = amountWords(e)
	}
	for _, e := range is.Enforced {
		short, _ := tenants.Shorthand(e.Name)
		t.row(short, orElse(before[e.Name], "none"), amountWords(e), e.From)
		delete(before, e.Name)
	}
	for _, name := range tenants.LimitNames() {
		if short, _ := tenants.Shorthand(name); before[name] != "" {
			t.row(short, before[name], "none", "")
		}
	}
	if len(t.rows) > 0 {
		section(o.Out, "limits", t)
	}
	if made {
		o.say("%s is made. Its calls come with a key: nightshift keys add --name NAME --feature FEATURE --tenant %s", r.Node(), shellWord(strings.Trim(r.Tenant+"/"+r.Team, "/")))
	}
	return nil
}

func amountWords(e tenants.Enforced) string {
	name, _ := tenants.Shorthand(e.Name)
	return valueText(limiter.Override{Name: name, Value: e.Amount})
}

type tenantsTokenOptions struct {
	*factory
	Name    string
	Expires string
	End     string
	List    bool
}

func newTenantsTokenCmd(f *factory) *cobra.Command {
	o := &tenantsTokenOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "token TENANT --name WHO | --list | --end ID",
		Short: "Let a tenant look at its own page of the dashboard, and at nothing else",
		Long: "Makes a token that shows one tenant's limits, use and keys, on the dashboard and over its API, and prints it\n" +
			"once. It changes nothing, and what others have is not there for it.",
		Example: "  nightshift tenants token acme --name \"ada at acme\" --expires 720h\n" +
			"  nightshift tenants token acme --list\n" +
			"  nightshift tenants token acme --end v_0123456789ab",
		Args: oneTenantNamed,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.withBook(cmd.Context(), func(_ *backend, book *tenants.Book) error { return o.run(cmd.Context(), book, args[0]) })
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Name, "name", "", "for `WHOM` it is")
	fl.StringVar(&o.Expires, "expires", "", "when it ends: a `DAY` (2027-01-31) or a time from now (720h)")
	fl.BoolVar(&o.List, "list", false, "show those there are")
	fl.StringVar(&o.End, "end", "", "end the one with this `ID`")
	f.addOutputFlag(cmd)
	return cmd
}

func oneTenantNamed(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	if likeSecret(args[0]) || strings.HasPrefix(args[0], tenants.TokenPrefix) {
		return usageErrorf("`%s` wants the name of a tenant, and this looks like a token", cmd.CommandPath())
	}
	return nil
}

func (o *tenantsTokenOptions) run(ctx context.Context, book *tenants.Book, tenant string) error {
	r := tenants.Ref{Tenant: tenant}
	switch given := o.Name != ""; {
	case o.End != "" && !o.List && !given:
		err := book.DropToken(ctx, operator(), tenant, o.End)
		if errors.Is(err, tenants.ErrNotThere) {
			return usageErrorf("%s has no token %q; --list shows them", tenant, o.End)
		}
		if err == nil {
			o.say("%s is ended; whoever is logged in with it is out", o.End)
		}
		return err
	case o.List && !given && o.End == "":
		return o.list(ctx, book, tenant)
	case !given || o.List || o.End != "":
		return usageErrorf("want one of --name, --list and --end")
	}
	var expires time.Time
	if o.Expires != "" {
		var err error
		if expires, err = o.expiry(o.Expires); err != nil {
			return err
		}
	}
	text, t, err := book.AddToken(ctx, operator(), tenant, o.Name, expires)
	if err != nil {
		return noTenant(ctx, book, r, err)
	}
	fmt.Fprintln(o.Out, text)
	o.say("%s (%s) is shown this once. It logs in at the dashboard, and goes with requests to /api/v1/tenants/%s as a bearer token", t.ID, t.Name, tenant)
	return nil
}

func (o *tenantsTokenOptions) list(ctx context.Context, book *tenants.Book, tenant string) error {
	list, err := book.Tokens(ctx, tenant)
	if err != nil {
		return err
	}
	t := newTable("ID", "FOR", "MADE", "BY", "ENDS")
	for _, x := range list {
		ends := "never"
		if !x.Expires.IsZero() {
			ends = dayOrTime(x.Expires, o.now())
		}
		t.row(x.ID, x.Name, dayOrTime(x.Created, o.now()), x.By, ends)
	}
	return o.print(t, list)
}
