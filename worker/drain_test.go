package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"

	"github.com/hibiken/asynq"
)

// slow makes every call take so long.
func (r *rig) slow(d time.Duration) {
	r.sim = geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: d}})
}

// TestDrain: when a worker is told to stop, calls in flight end and are stored,
// no new one is made, and another worker does the rest.
func TestDrain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(40 * time.Second)
		run := r.enqueue(12, spec())
		_, stop := r.start(r.config())
		pass(10 * time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took < 25*time.Second || took > 40*time.Second {
			t.Errorf("the drain took %v, want until the calls ended (some 30 s)", took)
		}
		c, err := r.store.Counts(t.Context(), run.ID)
		if err != nil || c[jobs.Done] != 4 || c[jobs.Running] != 0 || c.Open() != 8 {
			t.Errorf("rows are %s (err %v), want 4 done and 8 open, none running", tally(c), err)
		}
		r.start(r.config())
		if c := r.await(run, 5*time.Minute); c[jobs.Done] != 12 {
			t.Errorf("rows are %s", tally(c))
		}
		if calls := len(r.sim.Calls()); calls != 12 {
			t.Errorf("%d calls for 12 rows", calls)
		}
	})
}

// TestAbort: cancel --now drops calls in flight within a second or two, their
// estimates stay charged and their rows are cancelled; other runs go on.
func TestAbort(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(50 * time.Second)
		run, other := r.enqueue(2, spec()), r.enqueue(1, spec(func(s *jobs.Spec) { s.Name = "other" }))
		r.start(r.config())
		r.until(run, 10*time.Second, "both rows run", func(c jobs.Counts) bool { return c[jobs.Running] == 2 })
		pass(5 * time.Second)
		if _, err := r.store.Cancel(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		if err := Abort(t.Context(), r.rdb, run.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		left := 0
		for _, c := range r.sim.Calls() {
			if c.Status == 499 {
				left++
			}
		}
		if left != 2 {
			t.Errorf("%d calls were dropped, want 2: %+v", left, r.sim.Calls())
		}
		if c := r.await(run, time.Second); c[jobs.Cancelled] != 2 {
			t.Errorf("rows are %s", tally(c))
		}
		for _, s := range r.gate.settled {
			if s.Outcome != limiter.Settled || s.Used[limiter.Requests] != 1 {
				t.Errorf("an aborted call was settled as %+v, want the estimate charged", s)
			}
		}
		if c := r.await(other, 2*time.Minute); c[jobs.Done] != 1 {
			t.Errorf("the other run's rows are %s", tally(c))
		}
		pass(time.Minute)
		if calls := len(r.sim.Calls()); calls != 3 {
			t.Errorf("%d calls, want 3: an aborted row came again", calls)
		}
	})
}

// TestAbortOfAPause: the calls of a paused run are dropped; its rows wait without
// blame and are made once it is resumed.
func TestAbortOfAPause(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(50 * time.Second)
		run := r.enqueue(2, spec(func(s *jobs.Spec) { s.Attempts = 1 }))
		r.start(r.config())
		r.until(run, 10*time.Second, "both rows run", func(c jobs.Counts) bool { return c[jobs.Running] == 2 })
		pass(5 * time.Second)
		r.gate.set(func(g *testGate) {
			g.deny = func(limiter.Request) *limiter.Denied {
				return &limiter.Denied{Reason: limiter.ReasonPaused, RetryAfterMS: 30_000, Detail: "operator by ann"}
			}
		})
		if err := Abort(t.Context(), r.rdb, run.ID, time.Now()); err != nil {
			t.Fatal(err)
		}
		r.until(run, 5*time.Second, "both rows wait", func(c jobs.Counts) bool { return c[jobs.Waiting] == 2 })
		r.gate.set(func(g *testGate) { g.deny = nil })
		if c := r.await(run, 3*time.Minute); c[jobs.Done] != 2 {
			t.Errorf("rows are %s", tally(c))
		}
		if calls := len(r.sim.Calls()); calls != 4 {
			t.Errorf("%d calls, want 4: two that were aborted, two that were answered", calls)
		}
	})
}

// TestCancelKeepsPaidAnswers: without --now a call in flight ends and its answer
// is kept.
func TestCancelKeepsPaidAnswers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(30 * time.Second)
		run := r.enqueue(20, spec())
		r.start(r.config())
		r.until(run, 10*time.Second, "calls are out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 4 })
		if _, err := r.store.Cancel(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		c, _ := r.store.Counts(t.Context(), run.ID)
		if c[jobs.Done] != 4 || c[jobs.Cancelled] != 16 || len(r.sim.Calls()) != 4 {
			t.Errorf("rows are %s after %d calls, want 4 done, 16 cancelled, 4 calls", tally(c), len(r.sim.Calls()))
		}
	})
}

// sinkFunc is a jobs.Sink.
type sinkFunc func(jobs.Result) error

func (f sinkFunc) Put(_ context.Context, r jobs.Result) error { return f(r) }

// TestFullDisk: when the results file cannot be written the worker stops with
// that error, and the paid answer is in Redis.
func TestFullDisk(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(50, spec())
		full := errors.New("no space left on device")
		cfg := r.config()
		cfg.Sink = sinkFunc(func(jobs.Result) error { return full })
		w, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(t.Context()); !errors.Is(err, full) {
			t.Errorf("Run: %v, want %v", err, full)
		}
		calls, results := len(r.sim.Calls()), len(r.results(run))
		if calls == 0 || calls > 8 || results != calls {
			t.Errorf("%d calls, %d results: want the few in flight, and all of them kept", calls, results)
		}
	})
}

// TestPoison: a row whose worker died each time ends without another call.
func TestPoison(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run := r.enqueue(1, spec(func(s *jobs.Spec) { s.Attempts = 3 }))
		// A worker that dies leaves a lease to expire, which asynq counts as a
		// failure: here the handler says so itself.
		var deaths atomic.Int64
		srv := asynq.NewServerFromRedisClient(r.rdb, asynq.Config{Queues: map[string]int{jobs.Queue(jobs.Normal, testLane): 1},
			TaskCheckInterval: taskCheck, DelayedTaskCheckInterval: forwardCheck, IsFailure: isFailure, RetryDelayFunc: retryDelay, LogLevel: asynq.FatalLevel})
		if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { deaths.Add(1); return asynq.ErrLeaseExpired })); err != nil {
			t.Fatal(err)
		}
		for deaths.Load() < 3 {
			pass(time.Second)
		}
		srv.Shutdown()
		r.start(r.config())
		c := r.await(run, time.Minute)
		res := r.results(run)["r0"]
		if c[jobs.Failed] != 1 || res.Error == nil || res.Error.Cause != "attempts_exhausted" || len(r.sim.Calls()) != 0 {
			t.Errorf("rows are %s, result %+v, %d calls", tally(c), res, len(r.sim.Calls()))
		}
	})
}
