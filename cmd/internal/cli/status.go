package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

type statusOptions struct {
	*factory
	Ref string // of one run; "" for everything
}

func newStatusCmd(f *factory) *cobra.Command {
	o := &statusOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "status [RUN...]",
		Short: "Show where the rows of a run are; without RUN, everything at one look",
		RunE: func(cmd *cobra.Command, args []string) error {
			be, err := o.openAny(cmd.Context())
			if err != nil {
				return err
			}
			defer be.close()
			if len(args) == 0 {
				return o.all(cmd.Context(), be)
			}
			return o.each(cmd.Context(), be, args)
		},
	}
	f.addOutputFlag(cmd)
	return cmd
}

// each is the screen of one run after the other.
func (o *statusOptions) each(ctx context.Context, be *backend, refs []string) error {
	for i, ref := range refs {
		if i > 0 && o.opts.output == "table" {
			fmt.Fprintln(o.Out)
		}
		o.Ref = ref
		if err := o.one(ctx, be); err != nil {
			return err
		}
	}
	return nil
}

// runStatus is one run as status shows it.
type runStatus struct {
	ID       string            `json:"id"`
	Name     string            `json:"name,omitempty"`
	Model    string            `json:"model"`
	Priority jobs.Priority     `json:"priority"`
	Class    string            `json:"class"`
	Feature  string            `json:"feature"`
	Rows     int64             `json:"rows"`
	States   map[string]int64  `json:"states"`
	Created  time.Time         `json:"created"`
	Workers  int               `json:"workers"`
	Hold     string            `json:"hold,omitempty"`       // what keeps the whole lane from working
	WaitsFor string            `json:"waits_for,omitempty"`  // while it waits for quota: which limit, and until when; of one run only
	ETA      *time.Time        `json:"eta,omitempty"`        // as an outlook has it; not known while nothing comes through
	Kept     *time.Time        `json:"kept_until,omitempty"` // when it has ended and retention removes it
	Flex     *worker.FlexState `json:"flex_left,omitempty"`  // of one that goes by flex, while its rows go by standard
	Planned  *jobs.Planned     `json:"planned,omitempty"`
	Waits    map[string]int64  `json:"waits_ms,omitempty"`       // of all rows that have ended, by cause; of one run only
	Ended    *time.Time        `json:"ended,omitempty"`          // when its last row ended; of one run only, while none is open
	Cost     int64             `json:"cost_micro_usd,omitempty"` // of its calls that have ended; of one run only
	waited   string            // the same in words
	counts   jobs.Counts
	called   int64 // of one run only: rows that have ended with a call
	hold     hold
	lane     string
	updated  time.Time // when its rows were last changed from without
	path     limiter.Path
	nodes    []limiter.NodeState // with limits, on its way; of open runs
	gates    []gate              // timetables that its rows go by
	late     int64               // calls of a cancelled run that may still end
	closings []limiter.Closing   // when it was closed; of open runs
	deadline time.Time
	expires  time.Time // the same, where it ends the rows that are open then
	project  string    // another one, whose run this is; "" for our own
}

func (b *backend) runStatus(ctx context.Context, r jobs.Run, pauses []limiter.Pause, fleet []worker.WorkerInfo) (runStatus, error) {
	counts, err := b.store.Counts(ctx, r.ID)
	if err != nil {
		return runStatus{}, err
	}
	st := runStatus{
		ID: r.ID, Name: r.Spec.Name, Model: r.Spec.Model, Priority: r.Spec.Priority, Class: r.Spec.Class, Feature: r.Spec.Feature,
		Rows: r.Rows, States: map[string]int64{}, Created: r.Created, counts: counts, lane: r.Spec.Lane, updated: r.Updated, path: runPath(r),
		project: b.otherProject(r), Planned: r.Planned, deadline: r.Spec.Steer.Deadline, gates: append(b.conf.gatesOf(r.Spec), starting{r.Spec.Steer}),
	}
	if r.Spec.Steer.Stops() {
		st.expires = r.Spec.Steer.Deadline
	}
	st.Workers, _ = worker.Serving(b.living(fleet), r.Spec.Lane)
	if st.late, err = b.lateCalls(ctx, r, counts, fleet); err != nil {
		return runStatus{}, err
	}
	if counts.Open() > 0 {
		h, err := b.runHold(ctx, r, pauses, fleet, time.Now())
		if err != nil {
			return runStatus{}, err
		}
		st.hold, st.Hold = h, h.why
		if st.closings, err = b.closingsOf(ctx, r); err != nil {
			return runStatus{}, err
		}
	}
	for s := jobs.Queued; s < jobs.NumStates; s++ {
		if counts[s] > 0 {
			st.States[s.String()] = counts[s]
		}
	}
	return st, nil
}

// statuses are those of our project's runs: what others do on the same Redis,
// otherRuns tells.
func (b *backend) statuses(ctx context.Context) ([]runStatus, []worker.WorkerInfo, error) {
	runs, err := b.ourRuns(ctx)
	if err != nil {
		return nil, nil, err
	}
	fleet, err := worker.Fleet(ctx, b.rdb)
	if err != nil {
		return nil, nil, err
	}
	pauses, err := b.lim.Pauses(ctx) // once for all runs
	if err != nil {
		return nil, nil, err
	}
	list := []runStatus{}
	for _, r := range runs {
		s, err := b.runStatus(ctx, r, pauses, fleet)
		if err := firstError(err, b.keptUntil(ctx, r, &s)); err != nil {
			return nil, nil, err
		}
		list = append(list, s)
	}
	return list, fleet, b.onTheWay(ctx, list)
}

// forQuota is the phase of a run of which rows wait and none is at work.
const forQuota = "waiting for quota"

// phase says in a word what the run is doing.
func (s runStatus) phase() string {
	switch c := s.counts; {
	case c.Open() == 0 && c[jobs.Cancelled] > 0 && s.late > 0:
		return fmt.Sprintf("cancelled; up to %s still under way: their answers are kept", plural(int(s.late), "call"))
	case c.Open() == 0 && c[jobs.Cancelled] > 0:
		return "cancelled"
	case c.Open() == 0 && c.Bad() > 0:
		return "ended, some failed"
	case c.Open() == 0:
		return "ended"
	case s.project != "":
		return "open, a run of project " + s.project
	case s.hold.paused: // whatever a call under way, or a dead worker's, still does
		return s.Hold
	case s.Workers == 0:
		return "no worker serves it"
	case c[jobs.Running] > 0 && !s.hold.failing:
		return "at work"
	case s.Hold != "":
		return s.Hold
	case c[jobs.Waiting] > 0:
		return forQuota
	}
	return "queued"
}

// stands tells that the run goes on only when somebody acts.
func (s runStatus) stands() bool {
	return s.counts.Open() > 0 && s.hold.paused && (s.hold.unsure || s.hold.until.IsZero())
}

// outlasted tells that what holds the run ends no sooner than its deadline does its rows:
// none of them will be called for.
func (s runStatus) outlasted() bool {
	return s.counts.Open() > 0 && s.hold.firm && !s.hold.until.IsZero() && !s.expires.IsZero() && !s.hold.until.Before(s.expires)
}

// outlastedWords say so.
func (s runStatus) outlastedWords(now time.Time) string {
	rows := rowsOf(s.counts.Open()) + map[bool]string{true: " ends", false: " end"}[s.counts.Open() == 1]
	return fmt.Sprintf("%s without a call at the deadline, %s: it is held until %s", rows, clockIn(s.expires, now, time.Local), clockIn(s.hold.until, now, time.Local))
}

// inTime is the command that lets the rows of such a run be called for.
func (s runStatus) inTime() string {
	return orElse(s.hold.lift, "nightshift set "+shellWord(orElse(s.Name, s.ID))+" --deadline TIME")
}

// mostPhase is how long a phase in a table's column may be; what is longer stands whole
// elsewhere on the screen.
const mostPhase = 48

// brief is the phase for a table's column.
func (s runStatus) brief() string {
	p := s.phase()
	switch {
	case p == s.Hold && s.hold.brief != "":
		return s.hold.brief
	case len(p) <= mostPhase:
		return p
	}
	for _, end := range []string{"; ", " (", ": ", ", "} {
		p, _, _ = strings.Cut(p, end)
		if len(p) <= mostPhase {
			break
		}
	}
	return p
}

func printFleet(w io.Writer, fleet []worker.WorkerInfo) {
	if len(fleet) == 0 {
		fmt.Fprintln(w, "\nno workers at work")
		return
	}
	fmt.Fprintln(w)
	t := newTable("WORKER", "LANE", "CALLS", "OF", "").numeric(2, 3)
	for _, wk := range fleet {
		note := ""
		if wk.Draining {
			note = "stopping"
		}
		for _, l := range wk.Lanes {
			t.row(fmt.Sprintf("%s:%d", wk.Host, wk.PID), l.Lane, l.Busy, l.Slots, note)
		}
		if len(wk.Lanes) == 0 {
			t.row(fmt.Sprintf("%s:%d", wk.Host, wk.PID), "no lane yet", 0, 0, note)
		}
	}
	t.render(w)
}

// one is the screen of a single run.
func (o *statusOptions) one(ctx context.Context, be *backend) error {
	run, err := be.store.Find(ctx, o.Ref)
	if err != nil {
		return err
	}
	fleet, err := worker.Fleet(ctx, be.rdb)
	if err != nil {
		return err
	}
	pauses, err := be.lim.Pauses(ctx)
	if err != nil {
		return err
	}
	s, err := be.runStatus(ctx, run, pauses, fleet)
	if err != nil {
		return err
	}
	now := o.now()
	if err := firstError(be.runEnd(ctx, &s, now), be.readWaits(ctx, &s), be.readEnded(ctx, run, &s, now)); err != nil {
		return err
	}
	t := newTable("RUN", run.Title())
	if run.Spec.Name != "" {
		t.row("id", run.ID)
	}
	t.row("input", fmt.Sprintf("%s, %s%s, enqueued %s", run.Input, rowsOf(run.Rows), besideWords(run), clock(run.Created, now)))
	t.row("model", fmt.Sprintf("%s (%s), %s priority, for %s", run.Spec.Model, run.Spec.Lane, run.Spec.Priority, run.Spec.Feature))
	t.row("rows", countsLine(s.counts))
	workers, slots := worker.Serving(be.living(fleet), run.Spec.Lane)
	t.row("workers", servedBy(workers, slots, be.living(fleet)))
	if s.phase() == forQuota {
		if s.WaitsFor, err = be.waitsFor(ctx, run, now); err != nil {
			return err
		}
	}
	t.row("state", s.phase()+after(": ", s.WaitsFor))
	if err := be.steerRows(ctx, t, run, s.counts, now); err != nil {
		return err
	}
	if s.Flex, err = be.flexLeft(ctx, run, s.counts); err != nil {
		return err
	}
	if s.Flex != nil {
		t.row("", flexWords(*s.Flex, now)) // below the tier that was asked for
	}
	if line := plannedLine(run.Planned, now); line != "" {
		t.row("expected", line)
	}
	if s.waited != "" {
		t.row("waited", s.waited)
	}
	if s.Ended != nil {
		t.row("ended", clock(*s.Ended, now))
	}
	if s.Cost > 0 {
		t.row("cost", usd(s.Cost)+map[bool]string{true: " so far"}[s.Ended == nil])
	}
	words, until, err := be.keptWords(ctx, run, s.counts, now)
	if err != nil {
		return err
	}
	if s.Kept = until; words != "" {
		t.row("kept", words)
	}
	switch words := capEnds(run, s.called, s.counts.Open(), s.Cost); {
	case s.outlasted():
		t.row("but", s.outlastedWords(now)+": "+s.inTime())
	case s.ETA == nil:
	case words != "":
		t.row("but", words)
	default:
		t.row("done by", "about "+clock(*s.ETA, now))
	}
	t.row("next", nextCommand(run, s))
	t.wrap(100, "state", "but")
	return o.print(t, s)
}

func nextCommand(run jobs.Run, s runStatus) string {
	name := shellWord(run.Title())
	switch {
	case s.project != "":
		return fmt.Sprintf("nightshift status %s --project %s", name, shellWord(s.project))
	case s.counts.Open() > 0 && s.hold.paused && s.hold.unsure:
		return "nightshift set " + name + " --max-cost DOLLARS"
	case s.counts.Open() > 0 && s.Workers == 0:
		return "nightshift worker"
	case s.counts.Open() > 0 && s.hold.paused && s.hold.until.IsZero(): // somebody has to lift it
		return "nightshift why " + name
	case s.counts.Open() > 0:
		return "nightshift wait " + name
	case s.counts[jobs.Cancelled] > 0:
		return "nightshift retry " + name
	case s.counts.Bad() > 0:
		return "nightshift errors " + name
	}
	return "nightshift results " + name + " -o results.jsonl"
}
