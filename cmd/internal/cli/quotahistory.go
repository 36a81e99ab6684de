package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/limiter/gemini"
)

type historyOptions struct {
	*factory
	From, To               string
	By, Unit               string
	Model                  string
	Class, Feature, Tenant string
	Step                   time.Duration
	Top                    int
}

func newQuotaHistoryCmd(f *factory) *cobra.Command {
	o := &historyOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "history [MODEL] [--from 22:00 --to 07:00] [--by feature] [--unit rpm]",
		Short: "Show what was used over time and by whom: refusals, waits, estimates, cache, loans",
		Long: "Draws one unit over an interval, adds it up by feature, tenant, model or class, and says what was refused and by\n" +
			"which limit, what came again, how far estimates were off, what the caches saved and what was on loan. Steps of ten\n" +
			"seconds are kept for 48 hours, steps of five minutes for seven days; the step is chosen for at most 600 points.",
		Example: "  nightshift quota history --from 6h --by tenant --unit input_tpm\n" +
			"  nightshift quota history gemini-3.5-flash --from 168h --by class --output csv > week.csv",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Model = firstArg(args)
			return runQuotaHistory(cmd.Context(), o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.From, "from", "6h", "from when on: a `TIME` of day that has passed, a moment, or a time back")
	fl.StringVar(&o.To, "to", "", "until when (default: now)")
	fl.StringVar(&o.By, "by", "feature", "whose use to tell apart, by `WHAT`: feature, tenant, model, class")
	fl.StringVar(&o.Unit, "unit", "rpm", "what to draw: `UNIT`, one of "+strings.Join(gemini.AmountNames(), ", "))
	fl.StringVar(&o.Class, "class", "", "only of this `CLASS`")
	fl.StringVar(&o.Feature, "feature", "", "only of this `FEATURE`")
	fl.StringVar(&o.Tenant, "tenant", "", "only of this `TENANT`")
	fl.DurationVar(&o.Step, "step", 0, "how long a step is, a multiple of 10s (default: chosen)")
	fl.IntVar(&o.Top, "top", 10, "how many to tell apart, the largest; the others are one")
	fl.StringVar(&f.opts.output, "output", "table", "table, csv, json or plain")
	return cmd
}

func runQuotaHistory(ctx context.Context, o *historyOptions) error {
	q, err := o.query()
	if err != nil {
		return err
	}
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if err := be.knowsModel(ctx, o.Model); err != nil {
		return err
	}
	d, err := gemini.NewHistory(be.rdb, be.conf.scope()).Read(ctx, q)
	if err != nil {
		return err
	}
	v := o.view(d)
	switch o.opts.output {
	case "csv":
		return v.csv(o.Out, d)
	case "json":
		return o.print(nil, v)
	case "plain":
		v.table().plain(o.Out)
		return nil
	}
	if nothingIn(d) {
		o.say("no calls from %s to %s%s", clock(q.From, o.now()), clock(q.To, o.now()), ofModel(o.Model))
		return nil
	}
	v.print(o.Out, d, o.now())
	return nil
}

// nothingIn says that no call was made and no row ended.
func nothingIn(d *gemini.HistoryData) bool {
	return d.Total.Sum.Calls+d.Total.Sum.Queued+d.Total.Sum.RowsEnded() == 0
}

// query checks what was asked for.
func (o *historyOptions) query() (q gemini.HistoryQuery, err error) {
	by := make([]string, 0, 4)
	for _, g := range gemini.GroupsBy() {
		by = append(by, string(g))
	}
	for _, check := range []error{
		oneOf("--by", o.By, by...), oneOf("--unit", o.Unit, gemini.AmountNames()...), oneOf("--output", o.opts.output, "table", "csv", "json", "plain"),
	} {
		if check != nil {
			return q, &usageError{check}
		}
	}
	switch {
	case (o.Tenant != "" || o.By == "tenant") && (o.Feature != "" || o.By == "feature"):
		return q, usageErrorf("features are not told apart by tenant: take --by model or --by class with --tenant, or --tenant without --feature")
	case o.Top < 1 || o.Top > 1000:
		return q, usageErrorf("--top %d: want 1 to 1000", o.Top)
	case o.Step != 0 && (o.Step < 10*time.Second || o.Step%(10*time.Second) != 0):
		return q, usageErrorf("--step %s: want a multiple of 10s, such as 1m", o.Step)
	}
	q = gemini.HistoryQuery{By: gemini.GroupBy(o.By), Model: o.Model, Class: o.Class, Feature: o.Feature, Tenant: o.Tenant,
		Step: o.Step, Top: o.Top, Unit: o.Unit, Levels: true}
	if q.From, q.To, err = interval(o.From, o.To, o.now()); err != nil {
		return q, err
	}
	if week := 7 * 24 * time.Hour; q.From.Before(o.now().Add(-week - time.Hour)) {
		return q, usageErrorf("--from %s: the history is kept for seven days; nightshift spend show knows 100 days of money", o.From)
	}
	if points := q.To.Sub(q.From) / max(o.Step, 1); o.Step > 0 && points > 6000 {
		return q, usageErrorf("--step %s: that makes %d steps; take a larger one", o.Step, points)
	}
	return q, nil
}

// knowsModel refuses a model that no limits are known of: a typing error must not look
// like silence.
func (b *backend) knowsModel(ctx context.Context, model string) error {
	if model == "" {
		return nil
	}
	_, err := b.laneStates(ctx, model)
	return err
}

// historyView is what the command shows and `--output json` has.
type historyView struct {
	From    time.Time         `json:"from"`
	To      time.Time         `json:"to"`
	StepMS  int64             `json:"step_ms"`
	By      string            `json:"by"`
	Unit    string            `json:"unit"`
	Model   string            `json:"model,omitempty"`
	Known   time.Time         `json:"known"` // what was counted until then is in it
	Groups  []historyGroup    `json:"groups"`
	Total   historyGroup      `json:"total"`
	Met     historyMet        `json:"met"`
	Levels  []historyLevels   `json:"levels,omitempty"`
	Missing []gemini.Interval `json:"missing,omitempty"`
}

// historyGroup is one line of it. Rates are by the minute for rpm and tokens; all else
// is the sum of a step.
type historyGroup struct {
	Name        string    `json:"name"`
	Sum         int64     `json:"sum"`
	Share       float64   `json:"share"`
	Avg         float64   `json:"avg"`
	Peak        float64   `json:"peak"`
	PeakAt      time.Time `json:"peak_at"`
	Provider429 int64     `json:"provider_429"`
	Refused     int64     `json:"refused"`
	MicroUSD    int64     `json:"micro_usd"`
	Points      []float64 `json:"points"`
}

// perMinute says whether a unit is shown as a rate.
func perMinute(unit string) bool { return strings.HasSuffix(unit, "pm") }

func (o *historyOptions) view(d *gemini.HistoryData) *historyView {
	v := &historyView{From: d.From, To: d.To, StepMS: d.Step.Milliseconds(), By: o.By, Unit: o.Unit, Model: o.Model, Known: d.Known,
		Groups: []historyGroup{}, Missing: d.Missing, Met: metBy(d.Total.Sum), Levels: levelsOf(d.Levels, o.Unit)}
	v.Total = v.group(d.Total, d.Step, d.Total.Sum.Amount(o.Unit))
	for _, g := range d.Groups {
		v.Groups = append(v.Groups, v.group(g, d.Step, d.Total.Sum.Amount(o.Unit)))
	}
	return v
}

func (v *historyView) group(s gemini.HistorySeries, step time.Duration, all int64) historyGroup {
	g := historyGroup{Name: s.Name, Sum: s.Sum.Amount(v.Unit), Share: ratio(s.Sum.Amount(v.Unit), all),
		Provider429: s.Sum.Provider429, Refused: s.Sum.Refused, MicroUSD: s.Sum.MicroUSD}
	per := 1.0
	if perMinute(v.Unit) {
		per = time.Minute.Seconds() / step.Seconds()
	}
	for _, p := range s.Points {
		n := per * float64(p.Amount(v.Unit))
		if n > g.Peak {
			g.Peak, g.PeakAt = n, p.At
		}
		g.Avg += n
		g.Points = append(g.Points, n)
	}
	if past := slices.IndexFunc(s.Points, func(p gemini.UsageSample) bool { return !p.At.Before(v.Known) }); past > 0 {
		g.Avg /= float64(past) // what is still to come is no silence
		g.Points = g.Points[:past]
	} else {
		g.Avg /= float64(max(1, len(s.Points)))
	}
	return g
}

// csvSafe keeps a name from being a formula where a table is opened.
func csvSafe(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
