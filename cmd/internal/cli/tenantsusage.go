package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/cmd/internal/tenants"
)

type tenantsUsageOptions struct {
	*factory
	tenants.UsageQuery
}

func newTenantsUsageCmd(f *factory) *cobra.Command {
	o := &tenantsUsageOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "usage TENANT[/TEAM] [--from DAY --to DAY] [--step day] [--by feature]",
		Short: "Show what a tenant used by day or hour: calls, tokens, money, refusals",
		Long: "Adds up what calls on a tenant's behalf used. A call belongs to the day or hour in which its quota was held. Days\n" +
			"are kept for 100, in the zone that money is counted by (spend.zone), hours for eight days.",
		Example: "  nightshift tenants usage acme --by feature\n" +
			"  nightshift tenants usage acme --from 2026-11-01 --to 2026-11-30 --by key --output csv > nov.csv\n" +
			"  nightshift tenants usage acme/web --step hour",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := tenantRef(args[0])
			if err != nil {
				return err
			}
			return f.withBook(cmd.Context(), func(_ *backend, book *tenants.Book) error { return o.run(cmd.Context(), book, r) })
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&o.From, "from", "", "from which `DAY` or moment on (default: the month's first, or 24 hours back)")
	fl.StringVar(&o.To, "to", "", "to which `DAY`, which is included, or moment (default: now)")
	fl.StringVar(&o.Step, "step", "day", "`day` or hour")
	fl.StringVar(&o.By, "by", "", "whose use to tell apart, by `WHAT`: feature, model, team, key")
	fl.StringVar(&f.opts.output, "output", "table", "table, csv, json or plain")
	return cmd
}

func (o *tenantsUsageOptions) run(ctx context.Context, book *tenants.Book, r tenants.Ref) error {
	if err := oneOf("--output", o.opts.output, "table", "csv", "json", "plain"); err != nil {
		return &usageError{err}
	}
	if _, err := book.Show(ctx, r); err != nil {
		return noTenant(ctx, book, r, err)
	}
	o.Tenant, o.Team = r.Tenant, r.Team
	u, err := book.Usage(ctx, o.UsageQuery)
	switch {
	case err != nil:
		return err
	case o.opts.output == "csv":
		return u.CSV(o.Out)
	}
	t := usageTable(u)
	if o.opts.output != "table" {
		return o.print(t, u)
	}
	if len(u.Rows) == 0 {
		o.say("no calls of %s from %s to %s", r.Tenant, clock(u.From, o.now()), clock(u.To, o.now()))
		return nil
	}
	fmt.Fprintf(o.Out, "%s, %s to %s, by the %s (%s)\n", r.Tenant, u.From.Format("2006-01-02 15:04"), u.To.Format("2006-01-02 15:04"), u.Step, u.Zone)
	section(o.Out, "used", t)
	return nil
}

func usageTable(u *tenants.Usage) *dataTable {
	head := []string{"FROM", "CALLS", "INPUT", "OUTPUT", "SPENT", "REFUSED", "OWN LIMIT", "429S"}
	if u.By != "" {
		head = append([]string{"FROM", spendHead(u.By)}, head[1:]...)
	}
	t := newTable(head...)
	for i := len(head) - 7; i < len(head); i++ {
		t.numeric(i)
	}
	add := func(from, name string, c tenants.UsageTotal) {
		cells := []any{from}
		if u.By != "" {
			cells = append(cells, name)
		}
		t.row(append(cells, humanize.Comma(c.Calls), humanize.Comma(c.InputTokens), humanize.Comma(c.OutputTokens), exact(c.MicroUSD), humanize.Comma(c.Refused), humanize.Comma(c.OwnLimit), humanize.Comma(c.Provider429))...)
	}
	layout := time.DateOnly
	if u.Step == "hour" {
		layout = "01-02 15:04"
	}
	for _, r := range u.Rows {
		add(r.From.Format(layout), orElse(r.Name, "(none)"), tenants.UsageTotal{UseCounts: r.UseCounts})
	}
	if len(u.Rows) > 1 {
		add("all", "", u.Total)
	}
	return t
}

func spendHead(by string) string {
	return map[string]string{"feature": "FEATURE", "model": "MODEL", "team": "TEAM", "key": "KEY"}[by]
}
