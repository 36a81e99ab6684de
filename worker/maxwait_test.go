package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestMaxWait: rows that wait for quota longer than their run lets them end
// as expired, in time although they would have come back later, without a call;
// they say how long and what for, give their places back, and a retry begins
// anew.
func TestMaxWait(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		shut := true
		r.gate.deny = func(q limiter.Request) *limiter.Denied {
			if !shut {
				return nil
			}
			return &limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", RetryAfterMS: 100_000}
		}
		const rows = 60 // most are lined up
		run := r.enqueue(rows, spec(func(s *jobs.Spec) { s.MaxWait = 3 * time.Minute }))
		start := time.Now()
		r.start(r.config())
		pass(170 * time.Second)
		if c, _ := r.store.Counts(t.Context(), run.ID); c[jobs.Waiting] != rows {
			t.Fatalf("after 170 s rows are %s", tally(c))
		}
		if c := r.await(run, time.Minute); c[jobs.Expired] != rows {
			t.Fatalf("rows are %s", tally(c))
		}
		for row, res := range r.results(run) {
			if res.Error.Cause != "max_wait" || !strings.Contains(res.Error.Message, "waited 3m") || !strings.Contains(res.Error.Message, "the most is 3m0s; last: waiting for quota (rpm)") {
				t.Errorf("%s: %+v", row, res.Error)
			}
			if res.Attempts != 0 {
				t.Errorf("%s: %d attempts, and it was never asked", row, res.Attempts)
			}
			if late := res.Finished.Sub(start); late > 3*time.Minute+15*time.Second || time.Duration(res.WaitedMS)*time.Millisecond < 3*time.Minute {
				t.Errorf("%s ended after %v, waited %d ms", row, late, res.WaitedMS)
			}
			if w := jobs.WaitsOf(res.WaitsMS); w[jobs.WaitQuota] < 170*time.Second || w.Total().Milliseconds() != res.WaitedMS {
				t.Errorf("%s waited %d ms, of it %v", row, res.WaitedMS, res.WaitsMS)
			}
		}
		if r.gate.set(func(g *testGate) {
			shut = false
			if len(g.dropped) < rows || g.granted != 0 {
				t.Errorf("%d places were given back, %d calls made", len(g.dropped), g.granted)
			}
		}); t.Failed() {
			return
		}
		if n, err := r.store.Retry(t.Context(), run.ID, jobs.RetryFilter{Causes: []string{"max_wait"}}); err != nil || n != rows {
			t.Fatalf("retried %d (%v)", n, err)
		}
		if c := r.await(run, 5*time.Minute); c[jobs.Done] != rows {
			t.Errorf("rows are %s", tally(c))
		}
	})
}

// TestMaxWaitLeavesOthers: rows that get their turn in time are done, and a run
// without a bound waits on.
func TestMaxWaitLeavesOthers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		open := time.Now().Add(time.Minute)
		r.gate.deny = func(q limiter.Request) *limiter.Denied {
			if time.Now().After(open) {
				return nil
			}
			return &limiter.Denied{Reason: limiter.ReasonShare, Limiter: "rpm", RetryAfterMS: max(time.Until(open).Milliseconds(), 1)}
		}
		var runs []jobs.Run
		for i, most := range []time.Duration{2 * time.Minute, 20 * time.Second, 0} {
			runs = append(runs, r.enqueue(3, spec(func(s *jobs.Spec) { s.Name, s.MaxWait = fmt.Sprint("run", i), most })))
		}
		r.start(r.config())
		for i, want := range []jobs.State{jobs.Done, jobs.Expired, jobs.Done} {
			if c := r.await(runs[i], 90*time.Second); c[want] != 3 {
				t.Errorf("rows of run %d are %s", i, tally(c))
			}
		}
	})
}
