package cli

import (
	"context"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
)

func newPlanCmd(f *factory) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:   "plan INPUT... -t TEMPLATE",
		Short: "Check rows and template, and say what they need; makes no call",
		Long: "Reads and checks the INPUT files, and says before anything is paid: which rows are new, what they\n" +
			"take in tokens, money (at each service tier, and by the Batch API) and time, and whether that fits\n" +
			"windows, deadline and caps. How long answers get comes from a sample, from an earlier run with the\n" +
			"same prompt, from what the feature's calls taught, or else is the longest that is allowed: it says\n" +
			"which. With -o FILE, or without a shared Redis, rows are compared with the results file that run\n" +
			"would go on with.",
	}
	own := func() {
		o.addUpdateFlag(cmd.Flags())
		cmd.Flags().StringVarP(&o.Out, "out", "o", "", "results `FILE` of nightshift run to compare with (default as run names it, without a shared Redis)")
		f.addOutputFlag(cmd)
	}
	return inputCommand(cmd, &o.specOptions, own, func(ctx context.Context, inputs []string) error { return runPlan(ctx, f, o, cmd, inputs) })
}

// planReport is what plan prints.
type planReport struct {
	Stand      *planStand  `json:"stand,omitempty"` // to what was done before
	Rows       int64       `json:"rows"`
	Bad        int64       `json:"bad"`        // rows of the input that --skip-invalid left out
	Duplicates int64       `json:"duplicates"` // rows that ask the same as one before
	Repeated   []repeated  `json:"duplicate_lines,omitempty"`
	Model      string      `json:"model"`
	Lane       string      `json:"lane"`
	Share      float64     `json:"bulk_share"`
	Prices     string      `json:"prices_checked,omitempty"`
	Dates      []priced    `json:"prices_change,omitempty"` // on the way, or later where no end is known
	Needs      int64       `json:"needs_seconds,omitempty"` // of the lane's limits, were nobody else there
	Limit      string      `json:"limit,omitempty"`         // that decides it
	Known      bool        `json:"end_known"`
	Done       time.Time   `json:"done_by,omitzero"`
	DoneLimit  string      `json:"done_limit,omitempty"`
	Resets     int         `json:"pacific_resets,omitempty"`
	Slots      int         `json:"calls_at_once,omitempty"`     // by flex
	FlexMost   int64       `json:"flex_most_seconds,omitempty"` // an answer may take
	Latest     time.Time   `json:"done_latest,omitzero"`        // if each takes that; Done is if each is as quick as flex gets
	Hold       string      `json:"hold,omitempty"`              // what keeps the rows from working now
	Others     int         `json:"other_runs"`                  // open, in the same lane
	Window     string      `json:"window,omitempty"`
	Has        int64       `json:"window_seconds,omitempty"` // of the lane's limits, that windows leave until HasUntil
	HasUntil   time.Time   `json:"window_until,omitzero"`    // the deadline, else when the next window closes
	Zone       string      `json:"zone,omitempty"`           // of the run's times; "" is this machine's
	Deadline   time.Time   `json:"deadline,omitzero"`
	Late       int64       `json:"late_seconds,omitempty"`
	Ways       []way       `json:"to_make_it,omitempty"`
	Caps       []capNote   `json:"caps_too_small,omitempty"`
	Update     *runUpdate  `json:"update,omitempty"`             // nil without --update
	Refused    string      `json:"enqueue_refuses,omitempty"`    // what enqueue says of these rows in the named run
	Unknown    string      `json:"not_looked_at,omitempty"`      // why the shared state is not in this
	NeedsSpan  []int64     `json:"needs_seconds_span,omitempty"` // at the least and at the most that rows may take
	DoneSpan   []time.Time `json:"done_by_span,omitempty"`
	need

	begins time.Time // the first moment from which its rows may go
}

// capNote is a cap that the rows may not fit.
type capNote struct {
	Cap  string `json:"cap"`
	Left int64  `json:"left_micro_usd"`
	Rows int64  `json:"rows"` // about so many fit
	Day  bool   `json:"a_day,omitempty"`
}

func runPlan(ctx context.Context, f *factory, o *planOptions, cmd *cobra.Command, inputs []string) error {
	o.dups = &repeats{}
	b, err := o.prepare(ctx, f, cmd, inputs)
	if err != nil {
		return err
	}
	defer b.close()
	be, away := f.openForPlan(ctx)
	if be != nil {
		defer be.close()
	}
	e, err := f.conf.evidence(ctx, be, b, "")
	if err != nil {
		return err
	}
	joined, err := joins(ctx, be, b)
	if err != nil {
		return err
	}
	stand, err := o.stand(ctx, f.conf, be, b, joined, o.resultsOf(f.conf, inputs))
	if err != nil {
		return err
	}
	refused, update, err := o.inRun(ctx, be, b)
	if err != nil {
		return err
	}
	if stand.asked() == 0 {
		t := newTable("PLAN", "")
		t.row("rows", humanize.Comma(b.Rows)+validRows(b.LeftOut))
		stand.noneAsked(t)
		update.rows(t, b.Name)
		refusedRow(t, refused)
		return f.print(t, planReport{Update: update, Rows: b.Rows, Model: b.Spec.Model, Lane: b.Spec.Lane, Bad: b.LeftOut, Stand: &stand, Refused: refused})
	}
	r, err := f.conf.planOf(ctx, be, b, e, joined, stand.asked(), f.now())
	if err != nil {
		return err
	}
	r.Stand, r.Refused, r.Update = &stand, refused, update
	r.Unknown, r.Duplicates, r.Bad = away, stand.Twice, b.LeftOut
	if r.Duplicates > 0 {
		r.Repeated = o.dups.lines()
	}
	t := planTable(r, b, o.dups.count(), f.now())
	r.Repeated = r.Repeated[:min(givenRepeats, len(r.Repeated))]
	return f.print(t, r)
}

// inRun is what enqueue would say of the rows in the run that it goes on with: why it
// refuses them, or what --update does to it.
func (o *planOptions) inRun(ctx context.Context, be *backend, b *batch) (refused string, update *runUpdate, err error) {
	if be == nil {
		return "", nil, nil
	}
	if b.Spec.Name != "" {
		refusal, err := be.store.Refuses(ctx, b.Prepared, o.Update)
		if err != nil {
			return "", nil, err
		}
		refused = refusedWords(refusal)
	}
	if !o.Update || refused != "" {
		return refused, nil, nil
	}
	w, err := be.store.WouldUpdate(ctx, b.Prepared)
	return "", &runUpdate{w.Run.ID, w.Removed, w.Stayed, w.OtherFields, w.OtherFieldsUnseen}, err
}

// joins is the id of the run that the rows would come to, if there is one: its settings
// hold for them, and what is open of it are these rows, not others.
func joins(ctx context.Context, be *backend, b *batch) (id string, err error) {
	if be == nil {
		return "", nil
	}
	run, found, err := be.store.Joins(ctx, b.Prepared)
	if err != nil || !found {
		return "", err
	}
	b.Spec.Steer = run.Spec.Steer
	return run.ID, nil
}

// openForPlan reaches the shared state where there is one: a plan goes without it,
// and says so.
func (f *factory) openForPlan(ctx context.Context) (be *backend, away string) {
	be, err := f.openAny(ctx)
	switch {
	case err == nil:
		return be, ""
	case f.conf.Redis == "embedded":
		return nil, "" // no run is going: there is nothing to know
	}
	return nil, err.Error()
}

// planOf works out what so many rows of a batch need. run is theirs, where it is
// there already.
func (l *loaded) planOf(ctx context.Context, be *backend, b *batch, e evidence, run string, rows int64, now time.Time) (r planReport, err error) {
	r = planReport{
		Rows: b.Rows, Model: b.Spec.Model, Lane: b.Spec.Lane, Share: b.quota.share, need: l.need(b, e, rows, now),
		Window: b.Spec.Steer.Window, Zone: b.Spec.Steer.Zone, Deadline: b.Spec.Steer.Deadline, Prices: l.prices().Checked().String(),
	}
	r.need.Rows = rows
	p, err := l.prospect(ctx, be, b, r.need, run, now)
	if err != nil {
		return r, err
	}
	r.time(p, b)
	r.byDate(l, p, b, e)
	r.caps(p, b.Spec)
	return r, nil
}

// time fills in how long the rows take, and when they are done.
func (r *planReport) time(p prospect, b *batch) {
	r.Others, r.Hold = len(p.runs)-1, p.hold.why
	if alone, known := p.needs(); known {
		r.Needs, r.Limit = int64(alone.took.Seconds()), alone.limit
		has, until := p.windowTime(r.Deadline, float64(p.runs[0].rows)/max(alone.took.Minutes(), 1e-9))
		r.Has, r.HasUntil = int64(has.Seconds()), until
	}
	f, known := p.end()
	if r.Known = known; !known {
		return
	}
	r.Done, r.DoneLimit, r.Resets, r.begins = p.now.Add(f.took), f.limit, f.days, p.runs[0].begins(p.now)
	r.spans(p)
	r.flexEnds(p)
	if r.Deadline.IsZero() || !r.Done.After(r.Deadline) {
		return
	}
	r.Late = int64(r.Done.Sub(r.Deadline).Seconds())
	if r.DoneLimit != byFlex { // else no limit's change makes it
		r.Ways = append(r.Ways, p.ways(r.Deadline, b.quota.model)...)
	}
}

// spans fills in between what the time lies, as far as the rows' tokens and money decide it.
func (r *planReport) spans(p prospect) {
	for _, end := range p.ends(r.need) {
		if alone, known := end.needs(); known {
			r.NeedsSpan = append(r.NeedsSpan, int64(alone.took.Seconds()))
		}
		if f, known := end.end(); known {
			r.DoneSpan = append(r.DoneSpan, p.now.Add(f.took))
		}
	}
	if len(r.NeedsSpan) < 2 || r.NeedsSpan[0] == r.NeedsSpan[1] {
		r.NeedsSpan = nil
	}
	if len(r.DoneSpan) < 2 || r.DoneSpan[1].Sub(r.DoneSpan[0]) < time.Second {
		r.DoneSpan = nil
	}
}

// ownCapName is a run's own cap, as it is typed.
const ownCapName = "--max-cost"

// caps notes the limits in money that the rows may not fit: by what they are likely
// to cost, or may cost where only that is known.
func (r *planReport) caps(p prospect, s jobs.Spec) {
	cost := r.cost()
	if cost == nil || cost.High == 0 {
		return
	}
	short, own := p.short(cost.High), s.Steer.MaxCost > 0 && s.Steer.MaxCost < cost.High
	for i, c := range short {
		if strings.HasPrefix(c.name, "usd_total of run/") { // it is there already, and may have spent a part
			short[i].name, own = ownCapName, false
		}
	}
	if own {
		short = append(short, capRoom{name: ownCapName, room: s.Steer.MaxCost})
	}
	for _, c := range short {
		fit := float64(c.room) / float64(max(cost.Mid, 1)) * float64(r.need.Rows)
		r.Caps = append(r.Caps, capNote{Cap: c.name, Left: c.room, Rows: min(r.need.Rows, int64(fit)), Day: c.day})
	}
}

// cost is that of the tier that the run goes by; nil where no price is known.
func (n need) cost() *jobs.Span {
	for i, t := range n.Tiers {
		if t.Used {
			return &n.Tiers[i].Cost
		}
	}
	return nil
}

// planned is what is recorded of a plan with a run.
func (r planReport) planned(now time.Time) jobs.Planned {
	return jobs.Planned{
		At: now, Rows: r.need.Rows, Input: r.Input, Output: r.Output, Cost: r.cost(),
		Tier: r.Tier, Source: r.Source, Done: r.Done,
	}
}
