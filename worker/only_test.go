package worker

import (
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

func asSample(s *jobs.Spec) { s.Sample, s.Priority = true, jobs.High }

// TestOnlyASample: a worker for one sample makes its rows and no others, be they of a
// run or of another sample, and the fleet's workers leave samples alone.
func TestOnlyASample(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		night := r.enqueue(6, spec(func(s *jobs.Spec) { s.Priority = jobs.High }))
		other := r.enqueue(3, spec(asSample, func(s *jobs.Spec) { s.Template = "other {{.word}}" }))
		mine := r.enqueue(5, spec(asSample))
		cfg := r.config()
		cfg.Only = mine
		w, stop := r.start(cfg)
		r.await(mine, time.Minute)
		for name, run := range map[string]jobs.Run{"another run": night, "another sample": other} {
			if c, err := r.store.Counts(t.Context(), run.ID); err != nil || c[jobs.Queued] != run.Rows {
				t.Errorf("%s: %s (%v), want all queued", name, tally(c), err)
			}
		}
		if fleet, err := Fleet(t.Context(), r.rdb); err != nil || len(fleet) != 0 || len(w.Info().Lanes) != 1 {
			t.Errorf("the fleet is %+v (%v), the worker %+v", fleet, err, w.Info())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		r.start(r.config())
		r.await(night, time.Minute)
		pass(10 * time.Second)
		if c, err := r.store.Counts(t.Context(), other.ID); err != nil || c[jobs.Queued] != 3 {
			t.Errorf("the fleet took another sample's rows: %s (%v)", tally(c), err)
		}
		if n := r.gate.granted; n != 5+6 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestSamplePulled: rows of a sample that wait come when the limiter says so, whoever
// asked it, and a sample alone asks for no more than it has waiting.
func TestSamplePulled(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		open := map[string]bool{}
		r.gate.deny = func(q limiter.Request) *limiter.Denied {
			if open[q.Ticket] {
				return nil
			}
			return &limiter.Denied{Reason: limiter.ReasonTurn, RetryAfterMS: 3_600_000}
		}
		mine := r.enqueue(2, spec(asSample))
		cfg := r.config()
		cfg.Only = mine
		r.start(cfg)
		r.until(mine, 10*time.Second, "all wait", func(c jobs.Counts) bool { return c[jobs.Waiting] == 2 })
		pass(time.Second)
		ticket := jobs.Task{Run: mine.ID, Index: 1}.ID()
		r.gate.set(func(g *testGate) {
			if n := g.slots[len(g.slots)-1]; n != 2 {
				t.Errorf("a pull may release %d, want 2", n)
			}
			open[ticket] = true
			g.pulled = []limiter.Pulled{{Ticket: ticket, Leaf: limiter.Path{Run: mine.ID, Priority: limiter.High}.Leaf()}}
		})
		r.until(mine, 3*time.Second, "the pulled row is done", func(c jobs.Counts) bool { return c[jobs.Done] == 1 })
	})
}
