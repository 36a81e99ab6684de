package scheduler

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// steered is a run of three rows that is looked after, by a clock that tests move.
type steered struct {
	*rig
	*RunWatch
	run jobs.Run
	now time.Time
}

func newSteered(t *testing.T, change func(*jobs.Steering)) *steered {
	t.Helper()
	s := &steered{rig: newRig(t, realRedis(t)), now: time.Now()}
	s.c.Now = func() time.Time { return s.now }
	s.RunWatch = &RunWatch{Control: s.c, Owner: "sched", Ramp: -1}
	s.run = enqueued(t, s.store)
	s.steer(change)
	return s
}

func (s *steered) steer(change func(*jobs.Steering)) {
	s.Helper()
	var err error
	s.run, err = s.store.Steer(s.ctx(), s.run.ID, func(x *jobs.Steering) error { change(x); return nil })
	s.must(err)
}

func (s *steered) look() {
	s.Helper()
	s.must(s.Look(s.ctx()))
}

// after looks once more after some time.
func (s *steered) after(d time.Duration) {
	s.Helper()
	s.now = s.now.Add(d)
	s.look()
}

// set are the overrides that hold, as "node name=value".
func (s *steered) set() (out []string) {
	s.Helper()
	all, err := s.lim.Overrides(s.ctx())
	s.must(err)
	for _, o := range all {
		out = append(out, fmt.Sprintf("%s %s=%d", strings.ReplaceAll(o.Node, s.run.ID, "ID"), strings.ReplaceAll(o.Name, s.run.ID, "ID"), o.Value))
	}
	return out
}

func (s *steered) wantSet(want ...string) {
	s.Helper()
	if got := s.set(); !slices.Equal(got, want) {
		s.Errorf("set are %q, want %q", got, want)
	}
}

func (s *steered) wantRunStarts(want bool) {
	s.Helper()
	if why, got := s.starts("bulk", PathOf(s.run)); got != want {
		s.Errorf("a call of the run starts: %v (%s), want %v", got, why, want)
	}
}

func (s *steered) wantEvents(kind string, n int, last string) {
	s.Helper()
	got := s.events(kind)
	if len(got) != n || n > 0 && !strings.Contains(got[n-1], last) {
		s.Errorf("events %q, want %d, the last with %q", got, n, last)
	}
}

// finish ends rows of the run well.
func (s *steered) finish(indexes ...int64) {
	s.Helper()
	for _, i := range indexes {
		task := jobs.Task{Run: s.run.ID, Index: i}
		_, err := s.store.Begin(s.ctx(), task)
		s.must(err)
		_, err = s.store.Finish(s.ctx(), task, jobs.Result{Status: "done"})
		s.must(err)
	}
}

func span(from, to time.Time) string { return clockText(from) + "-" + clockText(to) }

// TestRunWindow: a run is closed, then slow, then as fast as it can, as its
// timetable says, and nothing of that is left when it has ended; the other runs are
// not touched.
func TestRunWindow(t *testing.T) {
	s := newSteered(t, func(*jobs.Steering) {})
	other := enqueuedAs(t, s.store, "other")
	at := s.now.Truncate(time.Minute)
	first, second, third := at.Add(10*time.Minute), at.Add(20*time.Minute), at.Add(30*time.Minute)
	s.steer(func(x *jobs.Steering) {
		x.Window = span(at, first) + "@0%, " + span(first, second) + "@10%, " + span(second, third) + "@7rpm, else @100%"
	})
	s.look()
	s.wantRunStarts(false)
	if _, ok := s.starts("bulk", PathOf(other)); !ok {
		t.Error("the other run is closed too")
	}
	if ps, err := s.lim.Pauses(s.ctx()); err != nil || len(ps) != 1 || ps[0].Reason != ReasonWindow || ps[0].Until.Sub(s.now).Abs() > PauseLease+time.Second ||
		!strings.Contains(ps[0].Detail, "10% from "+clockText(first)+" UTC on") {
		t.Errorf("pauses %+v (%v), want a leased one that says what follows", ps, err)
	}
	s.wantEvents(limiter.EventPause, 1, "is closed by its window")
	s.after(10 * time.Minute)
	s.wantRunStarts(true)
	s.wantSet("run/ID rpm=100")
	s.wantSlowed(true)
	s.wantEvents(limiter.EventThrottle, 1, "has 10% by its window")
	s.after(10 * time.Minute)
	s.wantSet("run/ID rpm=7")
	s.RunWatch = &RunWatch{Control: s.c, Owner: "next", Ramp: -1} // another leader tells nothing twice
	s.look()
	s.wantEvents(limiter.EventThrottle, 2, "has 7rpm by its window")
	s.after(10 * time.Minute)
	s.wantSet()
	s.wantSlowed(false)
	s.wantEvents(limiter.EventResume, 1, "is open by its window")
}

// wantSlowed wants that what the run's rows wait now is known to be for its window, or
// that no such time goes on.
func (s *steered) wantSlowed(want bool) {
	s.Helper()
	lane, err := limiter.ParseLane(testLane)
	s.must(err)
	list, err := s.lim.Closings(s.ctx(), lane, "bulk", PathOf(s.run), "x")
	s.must(err)
	now, err := s.rdb.Time(s.ctx()).Result()
	s.must(err)
	goes := slices.ContainsFunc(list, func(c limiter.Closing) bool {
		return c.By == limiter.ByThrottle && c.Reason == ReasonWindow && c.To.After(now)
	})
	if goes != want {
		s.Errorf("slowed by its window: %v, want %v: %+v", goes, want, list)
	}
}

// TestWindowIsToldOnce: who sets a window and the leader see it both, and one tells; what
// it limits is said to be of the window.
func TestWindowIsToldOnce(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Window = "00:00-24:00@10%, else @0%" })
	now := s.now
	leader := &followed{Run: s.run, now: now}
	s.readTable(leader)
	s.must(s.Apply(s.ctx(), s.run))
	s.tellWindow(s.ctx(), leader) // its look began before
	s.wantEvents(limiter.EventThrottle, 1, "has 10% by its window")
	s.wantEvents(limiter.EventLimits, 2, "rpm 100 (set by the run's window)")
	s.steer(func(x *jobs.Steering) { x.Window = "" })
	s.must(s.Apply(s.ctx(), s.run))
	s.wantEvents(limiter.EventResume, 1, "has no window any more")
	s.wantEvents(limiter.EventLimits, 3, "(unset by the run's window)")
}

// TestWindowIsOneForAll: who changes a setting finds the same part of the lane for the run
// as the leader, also where the rows' size, as planned, decides it.
func TestWindowIsOneForAll(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Window = "00:00-24:00@50%" })
	lane, err := limiter.ParseLane(testLane)
	s.must(err)
	s.must(s.lim.Configure(s.ctx(), limiter.Config{Scope: testScope, Classes: testClasses,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 1000, InputTPM: 2_000_000}, Lend: "now"}}}))
	s.must(s.store.Expect(s.ctx(), s.run.ID, jobs.Planned{Rows: 10, Input: jobs.Span{Mid: 100_000}, Output: jobs.Span{Mid: 10}}))
	s.must(s.Look(s.ctx()))
	before, err := s.lim.Overrides(s.ctx())
	s.must(err)
	s.now = s.now.Add(time.Second)
	_, is, err := s.store.Change(s.ctx(), s.run.ID, jobs.SetBy{By: "ada"}, []string{jobs.SetDeadline}, func(x *jobs.Spec) error {
		x.Steer.Deadline = s.now.Add(8 * time.Hour)
		return nil
	})
	s.must(err)
	s.must(s.Apply(s.ctx(), is))
	after, err := s.lim.Overrides(s.ctx())
	s.must(err)
	if len(before) != 1 || len(after) != 1 || before[0].Value != after[0].Value {
		t.Errorf("the leader sets %+v, who changes the deadline %+v", before, after)
	}
}

// TestPassedDeadlineIsTold: a deadline that a person moves before anybody looked is told
// of all the same, and once.
func TestPassedDeadlineIsTold(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Deadline = time.Now().Add(8 * time.Hour) })
	was := s.run
	s.now = was.Spec.Steer.Deadline.Add(-time.Second)
	s.must(s.TellPassed(s.ctx(), was))
	s.wantEvents(EventRun, 0, "")
	s.now = s.now.Add(2 * time.Second)
	for range 2 {
		s.must(s.TellPassed(s.ctx(), was))
	}
	s.wantEvents(EventRun, 1, "has passed with 3 rows open")
	s.must(s.EndLate(s.ctx())) // whoever looks now finds it told
	s.must(s.EndLate(s.ctx()))
	s.wantEvents(EventRun, 1, "is late")
}

// TestRunWindowGoesWithTheRun: what was set for a run is taken back when it ends, or
// is purged, and what a person set of it stays.
func TestRunWindowGoesWithTheRun(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Window, x.Weight, x.MaxCost = "00:00-24:00@10%, else @0%", 3, 5_000_000 })
	s.look()
	s.wantSet("run/ID rpm=100", "run/ID usd_total=5000000", "weights run/ID=3")
	s.must(s.lim.Set(s.ctx(), limiter.Override{Node: "run/" + s.run.ID, Name: "rpm", Value: 5, By: "ann"}))
	s.after(2 * time.Second)
	s.wantSet("run/ID rpm=5", "run/ID usd_total=5000000", "weights run/ID=3")
	_, err := s.store.Cancel(s.ctx(), s.run.ID)
	s.must(err)
	s.after(2 * time.Minute)
	s.wantSet("run/ID rpm=5", "run/ID usd_total=5000000") // a retry is of the same life
	if ids, err := s.store.Watched(s.ctx()); err != nil || len(ids) != 0 {
		t.Errorf("watched %v (%v) after its end", ids, err)
	}
	_, err = s.store.Purge(s.ctx(), s.run.ID, jobs.PurgeOptions{})
	s.must(err)
	s.after(2 * time.Minute)
	s.wantSet("run/ID rpm=5")
}

// TestRunWindowOpensLittleByLittle: in steps, each a change of limits.
func TestRunWindowOpensLittleByLittle(t *testing.T) {
	s := newSteered(t, func(*jobs.Steering) {})
	at := s.now.Truncate(time.Minute)
	s.Ramp = 2 * time.Minute
	s.steer(func(x *jobs.Steering) { x.Window = span(at.Add(-time.Hour), at) + "@0%, else @100%" })
	s.now = at
	for i, want := range []string{"run/ID rpm=200", "run/ID rpm=400", "run/ID rpm=600", "run/ID rpm=800"} {
		s.now = at.Add(time.Duration(i)*30*time.Second + time.Second)
		s.look()
		s.wantSet(want)
	}
	s.now = at.Add(2*time.Minute + time.Second)
	s.look()
	s.wantSet()
}

// TestRunStartsByRamp: from a tenth of what its timetable lets it have to all of that,
// before its first row too, and nothing is left of it then.
func TestRunStartsByRamp(t *testing.T) {
	s := newSteered(t, func(*jobs.Steering) {})
	s.steer(func(x *jobs.Steering) {
		x.Ramp, x.RampFrom, x.Window = 10*time.Minute, s.now, "00:00-24:00@50%, else @0%"
	})
	s.must(s.Apply(s.ctx(), s.run))
	s.wantSet("run/ID rpm=50")
	s.after(5 * time.Minute)
	s.wantSet("run/ID rpm=275")
	s.steer(func(x *jobs.Steering) { x.Window = "00:00-24:00@100rpm, else @0%" })
	s.look()
	s.wantSet("run/ID rpm=55")
	s.after(5 * time.Minute)
	s.wantSet("run/ID rpm=100")
	s.steer(func(x *jobs.Steering) { x.Window = "" })
	s.look()
	s.wantSet()
}

// TestRunThatStartsIsNotLate: what it did with less of its rate says what it would do
// with all.
func TestRunThatStartsIsNotLate(t *testing.T) {
	f := &followed{rate: Rate{PPM: million}, starts: 100_000}
	if got := f.share(); got != 100_000 {
		t.Errorf("a share of %d ppm", got)
	}
	start := time.Now()
	m := runMark{}
	for i := range 7 {
		f.now, f.counts = start.Add(time.Duration(i)*time.Minute), jobs.Counts{jobs.Queued: int64(100 - i), jobs.Done: int64(i)}
		m.measure(f)
	}
	if m.PerMin < 9.9 || m.PerMin > 10.1 {
		t.Errorf("%g rows a minute with all, want 10", m.PerMin)
	}
}

// TestRunIsHeldBeforeItsFirstRow: what bounds a run is in force when it is made.
func TestRunIsHeldBeforeItsFirstRow(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Window, x.MaxCost, x.Weight = "00:00-24:00@0%, else @100%", 7, 2 })
	s.must(s.Apply(s.ctx(), s.run))
	s.wantRunStarts(false)
	s.wantSet("run/ID usd_total=7", "weights run/ID=2")
	s.steer(func(x *jobs.Steering) { x.Window, x.MaxCost = "", 0 })
	s.must(s.Apply(s.ctx(), s.run))
	s.wantRunStarts(true)
	s.wantSet("weights run/ID=2")
}

// asks asks for a call of the run that may cost so much, and waits in line for it.
func (s *steered) asks(index int64, cost int64) (*limiter.Permit, error) {
	s.Helper()
	lane, err := limiter.ParseLane(testLane)
	s.must(err)
	task := jobs.Task{Run: s.run.ID, Index: index}
	_, err = s.store.Begin(s.ctx(), task)
	s.must(err)
	p, err := s.lim.Acquire(s.ctx(), limiter.Request{ID: uniqueID(), Lane: lane, Class: "bulk", Path: PathOf(s.run), Feature: "test",
		Ticket: task.ID(), Amounts: limiter.Amounts{limiter.Requests: 1, limiter.MicroUSD: cost}})
	if err != nil {
		s.must(s.store.Wait(s.ctx(), task, jobs.WaitQueue, jobs.Waits{}))
	}
	return p, err
}

// TestRunCap: a run is paused at its cap only when nothing more fits and nothing is
// under way that may give money back; it says what is spent and what goes on, and
// goes on by itself when the cap is raised.
func TestRunCap(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.MaxCost = 1_000_000 })
	s.look()
	s.wantSet("run/ID usd_total=1000000")
	first, err := s.asks(0, 700_000)
	s.must(err)
	if _, err := s.asks(1, 700_000); err == nil {
		t.Fatal("a call was let go that does not fit under the cap")
	}
	for range 3 {
		s.after(2 * time.Second)
	}
	if ps := s.pauses(); len(ps) != 0 {
		t.Errorf("paused %q while a call is under way", ps)
	}
	s.must(s.lim.Settle(s.ctx(), limiter.Settlement{ID: first.ID, Lane: first.Lane, Outcome: limiter.Settled,
		Used: limiter.Amounts{limiter.Requests: 1, limiter.MicroUSD: 600_000}}))
	_, err = s.store.Finish(s.ctx(), jobs.Task{Run: s.run.ID}, jobs.Result{Status: "done", Attempts: 1})
	s.must(err)
	s.after(2 * time.Second)
	if ps := s.pauses(); len(ps) != 0 {
		t.Errorf("paused %q at the first look", ps)
	}
	s.after(2 * time.Second)
	want := s.run.ID + "/budget/sched"
	if ps := s.pauses(); !slices.Equal(ps, []string{want}) {
		t.Fatalf("paused %q, want %q", ps, want)
	}
	s.wantEvents(EventRun, 1, "is stopped by its cap: $0.60 of --max-cost $1.00 is spent, and a row may cost $0.70: nightshift set "+s.run.ID+" --max-cost 3 goes on") // two more rows of $0.60, and what one may cost
	s.after(20 * time.Second)
	s.wantEvents(EventRun, 1, "cap")
	s.steer(func(x *jobs.Steering) { x.MaxCost = 2_000_000 })
	s.after(2 * time.Second)
	if ps := s.pauses(); len(ps) != 0 {
		t.Errorf("paused %q under a higher cap", ps)
	}
	s.wantSet("run/ID usd_total=2000000")
	if _, err := s.asks(1, 700_000); err != nil {
		t.Errorf("a call under the higher cap: %v", err)
	}
}

// TestRunDeadlineStops: a pause hides no deadline; rows end once, calls under way
// stay, and it is told with the commands that go on.
func TestRunDeadlineStops(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Deadline = time.Now().Add(8 * time.Hour) })
	_, err := s.c.Pause(s.ctx(), PauseRequest{Target: Target{Run: s.run.ID}, Owner: "ann"})
	s.must(err)
	_, err = s.store.Begin(s.ctx(), jobs.Task{Run: s.run.ID})
	s.must(err)
	s.now = s.run.Spec.Steer.Deadline.Add(-time.Second)
	s.must(s.EndLate(s.ctx()))
	s.now = s.run.Spec.Steer.Deadline.Add(time.Second)
	s.must(s.EndLate(s.ctx()))
	s.must(s.EndLate(s.ctx()))
	counts, err := s.store.Counts(s.ctx(), s.run.ID)
	s.must(err)
	if counts[jobs.Expired] != 2 || counts[jobs.Running] != 1 {
		t.Errorf("rows are %v, want two expired and one running", counts)
	}
	s.wantEvents(EventRun, 0, "") // the call under way may come back
	s.now = s.now.Add(time.Minute)
	s.must(s.EndLate(s.ctx()))
	s.must(s.EndLate(s.ctx()))
	s.wantEvents(EventRun, 1, "2 rows ended without a call: nightshift set "+s.run.ID+" --deadline TIME, then nightshift retry "+s.run.ID+" --only deadline")
}

// TestRunDeadlineWithoutScheduler: what ended while none ran is told by the next one,
// before it forgets the run.
func TestRunDeadlineWithoutScheduler(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Deadline = time.Now().Add(8 * time.Hour) })
	s.now = s.run.Spec.Steer.Deadline.Add(time.Hour)
	_, err := s.store.Expire(s.ctx(), s.run.ID, s.now)
	s.must(err)
	s.look()
	s.wantEvents(EventRun, 1, "3 rows ended without a call")
}

// TestRunGoesOnLate: one that continues is told of once, and loses no row.
func TestRunGoesOnLate(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Deadline, x.OnLate = time.Now().Add(time.Hour), jobs.LateContinue })
	s.now = s.run.Spec.Steer.Deadline.Add(time.Minute)
	for range 3 {
		s.after(time.Minute)
		s.must(s.EndLate(s.ctx()))
	}
	if counts, _ := s.store.Counts(s.ctx(), s.run.ID); counts.Open() != 3 {
		t.Errorf("rows are %v", counts)
	}
	s.wantEvents(EventRun, 1, "has passed with 3 rows open; it goes on")
}

// TestRunUpgrade: a run that will be late is told of before its deadline, goes
// before others first, and then costs more.
func TestRunUpgrade(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) {
		x.Deadline, x.OnLate, x.ServiceTier = time.Now().Add(30*time.Minute), jobs.LateUpgrade, "flex"
	})
	s.Dearer = func(jobs.Run, string, string) float64 { return 2 }
	s.wantPlan(nil, []string{"weight 4", "standard instead of flex, at 2 x the price"})
	s.look()
	s.finish(0)
	for range 7 { // one row in the first minute, none since: two are left, and 23 minutes
		s.after(time.Minute)
	}
	s.wantEvents(EventRun, 0, "")
	for range 6 {
		s.after(time.Minute)
	}
	got := s.events(EventRun)
	if len(got) != 2 || !strings.Contains(got[0], "it is done ") || !strings.Contains(got[0], "after its deadline") || !strings.Contains(got[1], "its weight is 4 instead of 1 from ") {
		t.Fatalf("events %q, want that it will be late, and that its weight is raised", got)
	}
	s.after(time.Second)
	s.wantSet("weights run/ID=4")
	s.wantPlan([]string{"weight 4"}, []string{"standard instead of flex, at 2 x the price"})
	for range 7 {
		s.after(time.Minute)
	}
	s.wantEvents(EventRun, 3, "its rows go by the standard tier instead of flex, at 2 x the price from ")
	run, err := s.store.Load(s.ctx(), s.run.ID)
	s.must(err)
	if x := run.Spec.Steer; x.ServiceTier != "standard" || x.Weight != 4 || !strings.HasPrefix(run.Set[jobs.SetServiceTier].By, "nightshift") {
		t.Errorf("steered %+v, by %+v", x, run.Set)
	}
	s.wantPlan([]string{"weight 4", "standard instead of flex"}, nil)
}

// wantPlan wants what an upgrade has done for the run, and what it does next.
func (s *steered) wantPlan(done, left []string) {
	s.Helper()
	run, err := s.store.Load(s.ctx(), s.run.ID)
	s.must(err)
	d, l, err := s.UpgradePlan(s.ctx(), run)
	if s.must(err); !slices.Equal(d, done) || !slices.Equal(l, left) {
		s.Errorf("done %q, left %q, want %q and %q", d, l, done, left)
	}
}

// TestRunUpgradeShort: a run of a minute that is expected to be four seconds late is
// raised at its first look, as it is told; it goes by standard as soon as its pace says
// that this was not enough, long before its deadline. One that is in time is left alone.
func TestRunUpgradeShort(t *testing.T) {
	for _, c := range []struct {
		late time.Duration
		ends int // one row in so many looks of two seconds
		want []string
	}{
		{4 * time.Second, 15, []string{"4 s after its deadline", "its weight is 4", "by the standard tier instead of flex"}},
		{-time.Second, 5, nil},
	} {
		s := newSteered(t, func(x *jobs.Steering) {
			x.Deadline, x.OnLate, x.ServiceTier = time.Now().Add(time.Minute), jobs.LateUpgrade, "flex"
		})
		s.must(s.store.Expect(s.ctx(), s.run.ID, jobs.Planned{Rows: 3, Done: s.run.Spec.Steer.Deadline.Add(c.late)}))
		s.look()
		if n := len(s.events(EventRun)); n != min(2, len(c.want)) {
			t.Errorf("%d events at the first look: %q", n, s.events(EventRun))
		}
		for i := 1; i < 24 && i/c.ends < 3; i++ {
			if i%c.ends == 0 {
				s.finish(int64(i/c.ends - 1))
			}
			s.after(2 * time.Second)
		}
		got := s.events(EventRun)
		ok := len(got) >= len(c.want) && (c.want != nil || len(got) == 0)
		for i := 0; ok && i < len(c.want); i++ {
			ok = strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%v late: events %q, want %q", c.late, got, c.want)
		}
	}
}

// TestRunUpgradeYoung: a run that was expected to be late when it was enqueued is
// upgraded at once, and told when there is nothing left to do.
func TestRunUpgradeYoung(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) {
		x.Deadline, x.OnLate, x.ServiceTier, x.Weight = time.Now().Add(10*time.Minute), jobs.LateUpgrade, "auto", 2
	})
	f, err := s.load(s.ctx(), s.run.ID)
	s.must(err)
	f.now, f.Planned = s.now, &jobs.Planned{Done: s.run.Spec.Steer.Deadline.Add(4 * time.Minute)}
	s.must(s.deadline(s.ctx(), f))
	got := s.events(EventRun)
	if len(got) != 2 || !strings.Contains(got[0], "it was expected to be done") || !strings.Contains(got[1], "its weight is 8") {
		t.Fatalf("events %q, want that it will be late, and that its weight is raised", got)
	}
	for range 2 {
		f.now = f.now.Add(upgradeRest)
		s.must(s.upgrade(s.ctx(), f, time.Time{}))
	}
	s.wantEvents(EventRun, 3, "nothing more can be done to make its deadline")
}

// TestForecastByTheWindow: time outside the window does not count, a part of the
// share counts for a part, and a deadline that is made is not told of.
func TestForecastByTheWindow(t *testing.T) {
	at := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	w := &RunWatch{}
	for _, c := range []struct {
		window, zone string
		need         time.Duration
		want         string
	}{
		{"", "", 90 * time.Minute, "2026-11-30T22:30:00Z"},
		{"22:00-07:00@100%, else @0%", "", 90 * time.Minute, "2026-11-30T23:30:00Z"},
		{"22:00-07:00@100%, else @50%", "", 90 * time.Minute, "2026-11-30T23:00:00Z"},
		{"22:00-07:00@100%, else @0%", "", 10 * time.Hour, "2026-12-01T23:00:00Z"}, // over the month's end
		{"Mon 22:00-23:00@100%, else @0%", "", 90 * time.Minute, "2026-12-07T22:30:00Z"},
		{"00:00-24:00@0%, else @100%", "", time.Minute, "2027-01-29T21:00:00Z"}, // never: far off
		{"07:00-08:00@100%, else @0%", "Asia/Tokyo", 30 * time.Minute, "2026-11-30T22:30:00Z"},
	} {
		f := &followed{now: at}
		f.Spec.Steer.Window, f.Spec.Steer.Zone = c.window, c.zone
		if got := w.after(f, c.need).UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%q: %v is over at %s, want %s", c.window, c.need, got, c.want)
		}
	}
}

// TestPaceLeavesOutWhatTheWindowTook: half an hour at a tenth says what all of it
// would be, and a clock that was put back says nothing.
func TestPaceLeavesOutWhatTheWindowTook(t *testing.T) {
	at := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	f := &followed{now: at, rate: Rate{PPM: 100_000}, starts: million}
	f.counts[jobs.Queued] = 1000
	var m runMark
	for i := range 11 {
		f.now = at.Add(time.Duration(i) * time.Minute)
		f.counts[jobs.Done], f.counts[jobs.Queued] = int64(2*i), int64(1000-2*i)
		if !m.measure(f) {
			t.Fatalf("minute %d was left out", i)
		}
	}
	if m.PerMin != 20 {
		t.Errorf("%v rows a minute, want 20", m.PerMin)
	}
	if f.now = f.now.Add(30 * time.Second); m.measure(f) {
		t.Error("looked twice in a minute")
	}
	if f.now = at.Add(-time.Hour); !m.measure(f) || len(m.Paces) != 1 {
		t.Errorf("after the clock was put back it goes by %v", m.Paces)
	}
}

// TestPaceLeavesOutAPersonsPause: ten rows a minute are that also after a pause of most of
// the time.
func TestPaceLeavesOutAPersonsPause(t *testing.T) {
	s := newSteered(t, func(x *jobs.Steering) { x.Deadline = time.Now().Add(8 * time.Hour) })
	now, err := s.rdb.Time(s.ctx()).Result()
	s.must(err)
	s.must(s.lim.Pause(s.ctx(), limiter.Pause{Run: s.run.ID, Reason: ReasonOperator, Owner: "ada"}))
	f := &followed{Run: s.run, now: now.Add(-5 * time.Minute), rate: Rate{PPM: million}, starts: million}
	f.counts[jobs.Queued] = 1000
	var m runMark
	for i := range 11 {
		s.must(s.readStops(s.ctx(), f))
		if m.measure(f); i < 5 {
			f.counts[jobs.Done], f.counts[jobs.Queued] = f.counts[jobs.Done]+10, f.counts[jobs.Queued]-10
		}
		f.now = f.now.Add(time.Minute)
	}
	if math.Abs(m.PerMin-10) > 0.5 {
		t.Errorf("%v rows a minute, want 10", m.PerMin)
	}
}

// TestWindowLimit: a share is of what binds the run's calls, whichever limit that is.
func TestWindowLimit(t *testing.T) {
	plan := &jobs.Planned{Rows: 10, Input: jobs.Span{Mid: 20_000}, Output: jobs.Span{Mid: 5_000}}
	for _, c := range []struct {
		rate Rate
		lane limiter.Limits
		plan *jobs.Planned
		want int64
	}{
		{Rate{PPM: 100_000}, limiter.Limits{RPM: 1000}, nil, 100},
		{Rate{PPM: 100_000}, limiter.Limits{RPM: 1000, InputTPM: 200_000}, plan, 10},
		{Rate{PPM: 100_000}, limiter.Limits{RPM: 1000, InputTPM: 200_000}, nil, 20},
		{Rate{PPM: 100_000}, limiter.Limits{OutputTPM: 50_000}, plan, 10},
		{Rate{PPM: 1}, limiter.Limits{RPM: 1000}, nil, 1},
		{Rate{PPM: million}, limiter.Limits{RPM: 1000}, nil, 0},
		{Rate{PPM: million, PerMinute: 30}, limiter.Limits{}, nil, 30},
		{Rate{PPM: 100_000}, limiter.Limits{RPM: limiter.Unlimited}, nil, 0},
	} {
		f := &followed{rate: c.rate, starts: million}
		f.Planned = c.plan
		if got := windowLimit(f, c.lane); got != c.want {
			t.Errorf("%v of %+v: %d calls a minute, want %d", c.rate, c.lane, got, c.want)
		}
	}
}
