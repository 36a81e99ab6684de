package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

type spendShowOptions struct {
	*factory
	By    string
	Since string
}

func newSpendShowCmd(f *factory) *cobra.Command {
	o := &spendShowOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what was spent and by whom, what is held, and where each cap is going",
		Long: "Says what was spent, since the month began or since a day, by feature, tenant, model, run, service\n" +
			"tier, class or day; and of each cap what is spent and held of it, and what will be at its end. Days are of the\n" +
			"zone in which months are counted (spend.zone), and a call belongs to the day in which it began. They are kept\n" +
			"for 100.",
		Example: "  nightshift spend show --by tenant\n  nightshift spend show --by day --since 2026-11-15 --output json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSpendShow(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.By, "by", "feature", "who spent it, by `WHAT`: "+strings.Join(spenders(), ", "))
	cmd.Flags().StringVar(&o.Since, "since", "", "from which `DAY` on, or a time back (168h); default the month's first")
	f.addOutputFlag(cmd)
	return cmd
}

func runSpendShow(ctx context.Context, o *spendShowOptions) error {
	if err := oneOf("--by", o.By, spenders()...); err != nil {
		return &usageError{err}
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	v, err := be.spending(ctx, o.By, o.Since, o.now())
	if err != nil {
		return err
	}
	if o.opts.output != "table" {
		return o.print(v.byTable(), v)
	}
	v.print(o.factory)
	return nil
}

// spending is what `spend show` shows.
type spending struct {
	At       time.Time              `json:"at"`
	Project  string                 `json:"project"`
	Zone     string                 `json:"zone"`
	From     string                 `json:"from"` // days, both included
	To       string                 `json:"to"`
	MicroUSD int64                  `json:"micro_usd"` // of calls that ended
	Calls    int64                  `json:"calls"`
	AtEnd    int64                  `json:"month_end_micro_usd,omitempty"` // of the month, as spend forecast has it; 0 when not asked from its beginning, or not known
	Caps     []scheduler.CapOutlook `json:"caps"`
	month    gemini.SpendForecast
	ends     capsGoing
	titles   map[string]string // of runs, by id
	By       string            `json:"by"`
	Spenders []spender         `json:"spenders"`
}

func (b *backend) spending(ctx context.Context, by, since string, now time.Time) (*spending, error) {
	zone := b.conf.spendZone()
	now = now.In(zone)
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, zone)
	from, err := spendSince(since, first, now)
	if err != nil {
		return nil, err
	}
	samples, err := b.moneySince(ctx, from, now)
	if err != nil {
		return nil, err
	}
	v := &spending{At: now, Project: b.conf.Gemini.Project, Zone: zone.String(), From: from.Format(time.DateOnly), To: now.Format(time.DateOnly),
		By: by, Spenders: spendersOf(samples, by)}
	for _, s := range samples {
		v.MicroUSD, v.Calls = v.MicroUSD+s.MicroUSD, v.Calls+s.Calls
	}
	if v.ends, err = b.capsNow(ctx, now); err != nil {
		return nil, err
	}
	v.Caps = v.ends.caps
	if from.Equal(first) {
		if v.month, err = b.spendForecast(ctx, "", now); err != nil {
			return nil, err
		}
		v.AtEnd = v.month.Expected
	}
	if v.titles, err = b.runTitles(ctx); err != nil {
		return nil, err
	}
	v.nameSpenders()
	return v, nil
}

// spendSince reads the first day.
func spendSince(text string, month, now time.Time) (time.Time, error) {
	if text == "" {
		return month, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	if err != nil {
		if t, err = past(text, now); err != nil {
			return t, usageErrorf("--since %s: want a day (2026-11-15) or a time back (168h)", text)
		}
	}
	t = t.In(now.Location())
	switch day := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, now.Location()); {
	case day.After(now):
		return t, usageErrorf("--since %s: that day is still to come", text)
	case now.Sub(day) > 100*24*time.Hour:
		return t, usageErrorf("--since %s: money is kept for 100 days, since %s", text, now.AddDate(0, 0, -99).Format(time.DateOnly))
	default:
		return day, nil
	}
}

func (v *spending) print(f *factory) {
	fmt.Fprintf(f.Out, "project %s, %s to %s (%s): %s spent in %s calls\n", v.Project, v.From, v.To, v.Zone, exact(v.MicroUSD), humanize.Comma(v.Calls))
	if v.month.Month != "" {
		fmt.Fprintf(f.Out, "at the month's end: %s. %s\n", orElse(monthEnd(v.month), "?"), forecastWords(v.month))
	}
	if len(v.Caps) == 0 {
		fmt.Fprintln(f.Out, "nothing limits it; nightshift spend set --month DOLLARS does")
	}
	section(f.Out, "caps", v.capTable(f.now()))
	for _, c := range v.Caps {
		if s := stoppedSentence(c.CapState, v.ends.runs[c.Node], f.now()); s != "" {
			fmt.Fprintf(f.Out, "%s.\n", s)
		}
	}
	section(f.Out, "spent by "+v.By, v.byTable())
}

// capTable is each money limit with what is spent and held of it.
func (v *spending) capTable(now time.Time) *dataTable {
	t := newTable("NODE", "LIMIT", "SPENT", "HELD", "CAP", "FULL", "AT ITS END", "REACHED", "TURNS", "SOURCE").numeric(2, 3, 4, 5, 6)
	for _, c := range v.Caps {
		end, reached, turns := "", "", ""
		if c.IsCap() {
			reached = "not before"
			end, turns = usd(c.AtEnd), clock(c.End, now)
			if c.AtEnd == 0 && c.Used > 0 {
				end, reached = "?", "?"
			}
			if c.End.IsZero() {
				end, reached, turns = "", "", "never"
			}
		}
		if !c.Reached.IsZero() {
			reached = "about " + clock(c.Reached, now)
		}
		if c.Used >= c.Amount {
			reached = "now"
		}
		name := c.Name
		if c.Shadow {
			name += " (shadow)"
		}
		t.row(v.shownNode(c.Node), name, exact(c.Used-c.Held), exact(c.Held), exact(c.Amount), percent(ratio(c.Used, c.Amount)), end, reached, turns, c.Source)
	}
	return t
}

// runStopped says of a run what of its own cap is spent, and what lets more of its rows
// go: a higher cap, or answers with a bound where a call holds what the longest costs.
func runStopped(c limiter.CapState, run jobs.Run) string {
	money, s := usdApart(c.Used-c.Held, c.Amount, c.Held), "waits for budget: "
	s += fmt.Sprintf("%s of --max-cost %s is spent", money[0], money[1])
	if c.Held > 0 {
		s += fmt.Sprintf(", %s held by calls under way", money[2])
	}
	if c.Used < c.Amount && c.Next > 0 {
		s += fmt.Sprintf("; the next may cost %s", usd(c.Next))
	}
	s += fmt.Sprintf(". nightshift set %s --max-cost DOLLARS lets more go", typed(run))
	if c.Next > 0 && run.Spec.Settings.MaxOutputTokens == 0 && run.Spec.Kind != jobs.Embed {
		s += "; --max-output-tokens N at enqueue makes calls hold less"
	}
	return s
}

// stoppedSentence says what waits for money, and what lets it go on; "" when
// nothing does.
func stoppedSentence(c limiter.CapState, run jobs.Run, now time.Time) string {
	switch {
	case len(c.Stopped) == 0:
		return ""
	case c.Node == "run/"+run.ID && c.Name == "usd_total":
		return runStopped(c, run)
	}
	money, at := usdApart(c.Used-c.Held, c.Amount, c.Soft, c.Held), ""
	held := ""
	if c.Held > 0 {
		held = " and " + money[3] + " held by calls under way, which give back what they do not need,"
	}
	stop := c.Amount
	if c.Soft > 0 && c.Soft < c.Amount {
		stop = c.Soft
		at = fmt.Sprintf("; they stop at %s, the rest is for those who wait for answers", money[2])
	}
	if c.Used < stop && c.Next > 0 {
		at += "; the next call may cost up to " + usd(c.Next)
	}
	by := "by themselves at " + clock(c.End, now) + ", or "
	if c.End.IsZero() {
		by = ""
	}
	higher := fmt.Sprintf("nightshift spend set %s %s DOLLARS", shownTarget(c.Node), c.Name)
	if id, is := strings.CutPrefix(c.Node, "run/"); is && c.Name == "usd_total" {
		higher = fmt.Sprintf("nightshift set %s --max-cost DOLLARS", id)
	}
	if c.Node == "run/"+run.ID {
		c.Node = "run " + run.Title() // the command above takes the id alone
	}
	return fmt.Sprintf("%s wait for budget: %s of %s is spent%s (%s%s). They go on %swithin seconds of a higher cap: %s",
		strings.Join(c.Stopped, ", "), money[0], money[1], held, c, at, by, higher)
}
