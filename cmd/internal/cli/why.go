package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

type whyOptions struct {
	*factory
	What string
	Run  string
	Row  bool // What is a row of Run, and nothing else
}

func newWhyCmd(f *factory) *cobra.Command {
	o := &whyOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "why RUN|ROW|CLASS|LANE|QUEUE|TRACE | why RUN ROW",
		Short: "Say what something waits for, and until when",
		Long: "Says in a sentence what a run, a row, a lane (a model) or a queue waits for, and until when; or what\n" +
			"became of a call, by its trace id (the answer's x-nightshift-trace-id), as far as it was made on this\n" +
			"machine. Rows of several runs may have the same name: a row alone is looked for in the latest run,\n" +
			"and RUN ROW names one of another.",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.What = args[len(args)-1]; len(args) == 2 {
				if cmd.Flags().Changed("run") {
					return usageErrorf("--run %s and %s both name a run: leave one out", o.Run, args[0])
				}
				o.Run, o.Row = args[0], true
			}
			return runWhy(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Run, "run", "", "the `RUN` whose row is meant (default: the latest)")
	return cmd
}

// runWhy tries the names in the order in which they are unlikely to be mistaken:
// a whole name comes before a row, and a row before a shortened name.
func runWhy(ctx context.Context, o *whyOptions) error {
	be, err := o.openAny(ctx)
	if err != nil {
		return err
	}
	defer be.close()
	if o.Row {
		return o.rowOf(ctx, be)
	}
	if done, err := o.lane(ctx, be); done || err != nil {
		return err
	}
	if done, err := o.class(ctx, be); done || err != nil {
		return err
	}
	named, findErr := be.store.Find(ctx, o.What)
	if o.Run == "" && findErr == nil && (named.ID == o.What || named.Spec.Name == o.What) {
		return o.run(ctx, be, named)
	}
	run, err := be.store.Find(ctx, o.Run)
	if err != nil {
		if found, traceErr := o.trace(be.conf); found || traceErr != nil {
			return traceErr
		}
		if o.Run == "" && errors.Is(err, jobs.ErrNoRun) {
			return o.nothing(be.conf, "no run")
		}
		return err
	}
	row, err := be.store.Row(ctx, run.ID, o.What)
	var many *jobs.AmbiguousError
	switch {
	case err == nil:
		return o.row(ctx, be, run, row)
	case !errors.Is(err, jobs.ErrNoRow):
		return err
	case o.Run == "" && findErr == nil: // the beginning of a run's id or name
		return o.run(ctx, be, named)
	case o.Run == "" && errors.As(findErr, &many):
		return findErr
	}
	if found, err := o.trace(be.conf); found || err != nil {
		return err
	}
	return o.nothing(be.conf, "no run, no row of "+run.Title()+" (--run names another run)")
}

// rowOf explains the row of a run that was named with it.
func (o *whyOptions) rowOf(ctx context.Context, be *backend) error {
	run, err := be.store.Find(ctx, o.Run)
	if err != nil {
		return err
	}
	row, err := be.store.Row(ctx, run.ID, o.What)
	if errors.Is(err, jobs.ErrNoRow) {
		return fmt.Errorf("run %s has no row %q", run.Title(), o.What)
	}
	if err != nil {
		return err
	}
	return o.row(ctx, be, run, row)
}

// nothing says where a name was looked for in vain.
func (o *whyOptions) nothing(conf *loaded, runs string) error {
	return fmt.Errorf("nothing is called %q: no lane, no queue, %s, and no call in this machine's records (%s). "+
		"Calls that were refused before it was known who calls are in the gateway's log only, "+
		"and a permit has a record once it is settled: one that is open, lapsed or was released has none", o.What, runs, conf.recordsDir())
}

// lane explains a lane by its model or name, or the lane of a queue.
func (o *whyOptions) lane(ctx context.Context, be *backend) (bool, error) {
	lanes, err := be.lim.Lanes(ctx)
	if err != nil {
		return false, err
	}
	for _, lc := range lanes {
		name := lc.Lane.String()
		if strings.EqualFold(o.What, lc.Lane.Model) || o.What == name || isQueueOf(o.What, name) {
			return true, o.explainLane(ctx, be, name)
		}
	}
	return false, nil
}

func isQueueOf(name, lane string) bool {
	for _, p := range jobs.Priorities {
		if jobs.Queue(p, lane) == name {
			return true
		}
	}
	return false
}

// laneSentence is the lane's trouble, the worst first.
func (o *whyOptions) laneSentence(conf *loaded, s limiter.LaneState, tightest wayStep) string {
	now := o.now()
	n := waiting(s)
	switch {
	case s.Broken() != nil:
		return fmt.Sprintf("%s: %s; %s wait.", s.Lane.Model, conf.breakerSentence(s.Broken(), now), plural(int(n), "job"))
	case s.Cooldown != nil:
		return fmt.Sprintf("%s: %s; %s wait.", s.Lane.Model, conf.restSentence(s.Cooldown, now), plural(int(n), "job"))
	case bulkPause(s.Pauses) != nil:
		return fmt.Sprintf("%s: %s; %s wait.", s.Lane.Model, pauseSentence(bulkPause(s.Pauses), now), plural(int(n), "job"))
	case n == 0:
		return fmt.Sprintf("%s: nothing waits for quota; %s in flight.", s.Lane.Model, plural(int(s.InFlight), "call"))
	}
	return fmt.Sprintf("%s: %s", s.Lane.Model, laneWait(s, tightest, now))
}

// laneWait says what the jobs of a lane wait for: their turn at the pace that the
// tightest limit allows, or its next room. Jobs that do not go by it do not count.
func laneWait(s limiter.LaneState, tightest wayStep, now time.Time) string {
	l, waits := tightest.limit, tightest.waits(s.Leaves)
	n := humanize.Comma(waits) + " jobs"
	switch {
	case l.Name == "":
		return n + " wait for their turn; no limit holds them up."
	case waits == 0:
		return fmt.Sprintf("nothing of %s waits for quota.", tightest.node)
	}
	if l.Window == limiter.Held && tightest.room > 0 {
		return n + " wait for their turn; no limit is full now."
	}
	used := fmt.Sprintf("%s of %s used%s%s, %s held for others", amount(l.Unit, l.Used), amount(l.Unit, inForce(l)), inWindow(l.Window), loweredNote(l), amount(l.Unit, heldForOthers(l)))
	if tightest.room > 0 {
		return fmt.Sprintf("%s wait and go one by one as %s allows: %s.", n, tightest.name(), used)
	}
	return fmt.Sprintf("%s wait for %s: %s; room comes %s.", n, tightest.name(), used, nextRoom(l, s.At, now))
}

// nextRoom is when a limit that is full has room again.
func nextRoom(l limiter.LimitState, at, now time.Time) string {
	if l.Used > l.Effective && !l.NextFree.IsZero() {
		return orElse(nextFree(l, at, now), "when enough of that has left its window")
	}
	return orElse(nextFree(l, at, now), "as soon as a class gives some back")
}

func bulkPause(ps []limiter.Pause) *limiter.Pause {
	for i := range ps {
		if ps[i].Class == "bulk" {
			return &ps[i]
		}
	}
	return nil
}

func pauseSentence(p *limiter.Pause, now time.Time) string {
	until := "until it is lifted"
	if !p.Until.IsZero() {
		until = "until " + clock(p.Until, now)
	}
	why := orElse(p.Detail, p.Reason)
	switch {
	case p.Reason == scheduler.ReasonBrake:
		return brakeSentence(p, now)
	case p.Run != "" && p.Reason == scheduler.ReasonBudget: // leases, renewed as long as they hold
		return fmt.Sprintf("%s is stopped by its cap since %s (%s)", p.Target(), clock(p.Since, now), p.Detail)
	case p.Run != "" && p.Reason == scheduler.ReasonWindow:
		return fmt.Sprintf("%s is closed by its window since %s (%s)", p.Target(), clock(p.Since, now), p.Detail)
	case p.Owner == "asynqmon": // a lease too, of what asynq itself remembers
		until = "until it is resumed there"
	case p.Reason == scheduler.ReasonHealth: // a lease that is renewed as long as it holds
		until, why = "until callers are well", "health: "+why
	case p.Reason == scheduler.ReasonWindow:
		until, why = "by its work window", orElse(p.Detail, "window")
	}
	return fmt.Sprintf("%s is paused by %s since %s %s (%s)", p.Target(), p.Owner, clock(p.Since, now), until, why)
}

// endsBy says what ends a pause of which no end is known.
func endsBy(reason, owner string) string {
	switch {
	case owner == "asynqmon":
		return "until it is resumed on the queues' page"
	case reason == scheduler.ReasonHealth:
		return "until callers are well"
	case reason == scheduler.ReasonWindow:
		return "until its work window opens"
	case reason == scheduler.ReasonBudget:
		return "until there is money again"
	case reason == scheduler.ReasonDaily:
		return "until the day's quota is there again"
	case reason == scheduler.ReasonCredentials:
		return "until a look finds a key that works"
	case reason == scheduler.ReasonCounters:
		return "until somebody says what was used"
	case reason == scheduler.ReasonStop:
		return "until the stop is lifted"
	}
	return "until somebody resumes it"
}

// inForce is a limit less what the provider's answers took off. That is nobody's.
func inForce(l limiter.LimitState) int64 {
	if l.Lowered == nil {
		return l.Amount
	}
	return l.Effective + l.Outside + l.Margin
}

// loweredNote says why a limit is not what is set.
func loweredNote(l limiter.LimitState) string {
	switch {
	case l.Lowered == nil:
		return ""
	case l.Window == limiter.Held:
		return " (lowered since the provider is short of capacity; one more each second in which they are needed)"
	}
	return fmt.Sprintf(" (lowered from %s since the provider refused what was admitted)", amount(l.Unit, l.Amount))
}

func heldForOthers(l limiter.LimitState) int64 {
	held := inForce(l) - l.Effective
	for _, c := range l.Classes {
		held += max(0, c.Protected-c.Used)
	}
	return held
}

// run explains a run by what its rows are doing.
func (o *whyOptions) run(ctx context.Context, be *backend, run jobs.Run) error {
	counts, err := be.store.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "%s: %s.\n", run.Title(), countsLine(counts))
	if counts.Open() == 0 {
		fmt.Fprintln(o.Out, "Nothing waits: every row has ended.")
		return nil
	}
	fleet, err := worker.Fleet(ctx, be.rdb)
	if err != nil {
		return err
	}
	pauses, err := be.lim.Pauses(ctx)
	if err != nil {
		return err
	}
	if n, _ := worker.Serving(be.living(fleet), run.Spec.Lane); n == 0 && pauseOf(pauses, run) == nil {
		fmt.Fprintln(o.Out, "No worker serves its lane: start one with `nightshift worker`.")
		return nil
	}
	h, err := be.runHold(ctx, run, pauses, fleet, o.now())
	if err != nil {
		return err
	}
	flex, err := be.flexLeft(ctx, run, counts)
	if err != nil {
		return err
	}
	if flex != nil {
		fmt.Fprintf(o.Out, "It asks for %s: %s.\n", run.Spec.Steer.ServiceTier, flexWords(*flex, o.now()))
	}
	if h.why != "" {
		fmt.Fprintf(o.Out, "%s: %s.\n", run.Title(), h.why)
		return nil
	}
	if err := o.explainRun(ctx, be, run); err != nil {
		return err
	}
	return o.runEnd(ctx, be, run)
}

// runEnd says when the run will have ended, and what decides it.
func (o *whyOptions) runEnd(ctx context.Context, be *backend, run jobs.Run) error {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil || lane.Scope() != be.conf.scope() {
		return err
	}
	look, err := be.outlook(ctx, lane, o.now())
	if f, known := look.forecast(run.ID); known {
		fmt.Fprintf(o.Out, "Its end: %s.\n", f.sentence(o.now()))
	}
	return err
}

// explainLane prints what keeps a lane from working, or what its jobs wait for.
func (o *whyOptions) explainLane(ctx context.Context, be *backend, name string) error {
	h, lane, err := o.holdOf(ctx, be, name)
	if err != nil {
		return err
	}
	if h.why != "" {
		fmt.Fprintf(o.Out, "%s: %s.\n", lane.Model, h.why)
		return nil
	}
	s, err := be.lim.State(ctx, lane)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, o.laneSentence(be.conf, s, laneStep(s, "bulk")))
	o.printThrottles(s)
	return nil
}

func (o *whyOptions) printThrottles(s limiter.LaneState) {
	for _, t := range together(s.Throttles, func(t *limiter.Throttle) *string { return &t.Class }) {
		fmt.Fprintf(o.Out, "Held back: %s.\n", throttleSentence(t, o.now()))
	}
}

func (o *whyOptions) holdOf(ctx context.Context, be *backend, name string) (hold, limiter.Lane, error) {
	lane, err := limiter.ParseLane(name)
	if err != nil {
		return hold{}, lane, err
	}
	fleet, err := worker.Fleet(ctx, be.rdb)
	if err != nil {
		return hold{}, lane, err
	}
	h, err := be.holdOf(ctx, name, fleet, o.now())
	return h, lane, err
}

// row explains one row by its state and its ticket, and says what it has waited for.
func (o *whyOptions) row(ctx context.Context, be *backend, run jobs.Run, row jobs.RowInfo) error {
	if row.State == jobs.Waiting {
		return firstError(o.ticket(ctx, be, run, row), o.waited(ctx, be, run, row))
	}
	o.atRow(run, row)
	return o.waited(ctx, be, run, row)
}

func (o *whyOptions) atRow(run jobs.Run, row jobs.RowInfo) {
	switch row.State {
	case jobs.Queued:
		fmt.Fprintf(o.Out, "%s of %s is in queue %s; no worker has looked at it yet.\n", row.Row, run.Title(), row.Queue)
	case jobs.Running:
		fmt.Fprintf(o.Out, "%s of %s is being worked on now.\n", row.Row, run.Title())
	case jobs.RetryWait:
		fmt.Fprintf(o.Out, "%s of %s failed and will be tried again within %s.\n", row.Row, run.Title(), 30*time.Second)
	default:
		o.ended(run, row)
	}
}

func (o *whyOptions) ended(run jobs.Run, row jobs.RowInfo) {
	fmt.Fprintf(o.Out, "%s of %s is %s", row.Row, run.Title(), row.State)
	if r := row.Result; r != nil {
		if !r.Finished.IsZero() {
			fmt.Fprintf(o.Out, " since %s", clock(r.Finished, o.now()))
		}
		if r.Error != nil {
			fmt.Fprintf(o.Out, " after %s: %s (%s)", plural(r.Attempts, "attempt"), r.Error.Message, r.Error.Cause)
		}
	}
	if row.State == jobs.Cancelled {
		fmt.Fprintf(o.Out, "; nightshift retry %s does it after all", shellWord(run.Title()))
	}
	fmt.Fprintln(o.Out, ".")
}

func (o *whyOptions) ticket(ctx context.Context, be *backend, run jobs.Run, row jobs.RowInfo) error {
	h, lane, err := o.holdOf(ctx, be, run.Spec.Lane)
	if err != nil {
		return err
	}
	pauses, err := be.lim.Pauses(ctx)
	if err != nil {
		return err
	}
	if p := pauseOf(pauses, run); p != nil {
		fmt.Fprintf(o.Out, "%s of %s waits and keeps its place: %s.\n", row.Row, run.Title(), pauseSentence(called(p, run), o.now()))
		return nil
	}
	t, err := be.lim.Ticket(ctx, lane, row.ID())
	switch {
	case errors.Is(err, limiter.ErrNoTicket), errors.Is(err, limiter.ErrUnknownLane):
		fmt.Fprintf(o.Out, "%s of %s was put back and will be looked at again shortly.\n", row.Row, run.Title())
	case err != nil:
		return err
	case t.Released:
		fmt.Fprintf(o.Out, "%s of %s has its turn: a worker takes it up now.\n", row.Row, run.Title())
	default:
		comes, err := o.comes(ctx, be, lane, run, t, h)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s of %s waits for %s: place %s of %s in its line, its turn comes in about %s (%s).\n",
			row.Row, run.Title(), orElse(t.Limiter, "its turn"), humanize.Comma(t.Position), humanize.Comma(t.Waiting),
			ago(comes), clock(o.now().Add(comes), o.now()))
	}
	return o.explainRun(ctx, be, run)
}

// comes is when a row's turn comes. What is near the limiter knows best; what is
// far depends on other runs, throttles and the day.
func (o *whyOptions) comes(ctx context.Context, be *backend, lane limiter.Lane, run jobs.Run, t limiter.TicketState, h hold) (time.Duration, error) {
	if t.ETA <= time.Minute {
		return turn(t.ETA, h, o.now()), nil
	}
	look, err := be.outlook(ctx, lane, o.now())
	if at, known := look.of(run.ID, t.Position); known {
		return turn(at.Sub(o.now()), h, o.now()), err
	}
	return turn(t.ETA, h, o.now()), err
}

// turn is when a row's turn comes: not before its lane works again.
func turn(eta time.Duration, h hold, now time.Time) time.Duration {
	return max(eta, h.until.Sub(now))
}
