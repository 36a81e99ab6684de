package worker

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// allWait enqueues n rows that wait for an hour each, those whose tickets are open
// excepted.
func (r *rig) allWait(n int) (jobs.Run, map[string]bool) {
	r.Helper()
	open := map[string]bool{}
	r.gate.deny = func(q limiter.Request) *limiter.Denied {
		if open[q.Ticket] {
			return nil
		}
		return &limiter.Denied{Reason: limiter.ReasonTurn, RetryAfterMS: 3_600_000}
	}
	run := r.enqueue(n, spec(func(s *jobs.Spec) { s.Priority = jobs.Low }))
	r.start(r.config())
	r.until(run, 30*time.Second, "all rows wait", func(c jobs.Counts) bool { return c[jobs.Waiting] == int64(n) })
	return run, open
}

// TestPulledRowsComeAtOnce: a row that waits for an hour comes within a second
// when the limiter says it is its turn, before others of its queue.
func TestPulledRowsComeAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run, open := r.allWait(30)
		ticket := jobs.Task{Run: run.ID, Index: 17}.ID()
		r.gate.set(func(g *testGate) {
			open[ticket] = true
			g.pulled = []limiter.Pulled{{Ticket: ticket, Leaf: limiter.Path{Run: run.ID, Priority: limiter.Low}.Leaf()}, {Ticket: "gone", Leaf: "-/-/-/-/-/low"}}
		})
		r.until(run, 3*time.Second, "the pulled row is done", func(c jobs.Counts) bool { return c[jobs.Done] == 1 })
		if _, ok := r.results(run)["r17"]; !ok {
			t.Error("another row was done")
		}
		pass(lateFor + time.Second)
		r.gate.set(func(g *testGate) {
			if !slices.Equal(g.dropped, []string{"gone"}) {
				t.Errorf("places given back: %v, want that of the vanished task", g.dropped)
			}
		})
	})
}

// TestPullSeesTheFleetsSlots: a pull may release as many as the whole fleet can
// start, and a worker that drains does not count.
func TestPullSeesTheFleetsSlots(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.enqueue(1, spec())
		r.start(r.config())
		cfg := r.config()
		cfg.Concurrency = 7
		_, stop := r.start(cfg)
		pass(10 * time.Second)
		last := func() (n int) {
			r.gate.set(func(g *testGate) { n = g.slots[len(g.slots)-1] })
			return n
		}
		if got := last(); got != 4+7 {
			t.Errorf("a pull may release %d, want 11", got)
		}
		fleet, err := Fleet(t.Context(), r.rdb)
		if err != nil || len(fleet) != 2 {
			t.Fatalf("fleet %+v, err %v", fleet, err)
		}
		if workers, slots := Serving(fleet, testLane); workers != 2 || slots != 11 {
			t.Errorf("%d workers with %d slots serve the lane, want 2 with 11", workers, slots)
		}
		_ = stop()
		pass(3 * time.Second)
		if got := last(); got != 4 {
			t.Errorf("after one worker left a pull may release %d, want 4", got)
		}
	})
}

// TestDeadWorkersLeaveTheFleet: one that does not beat any more is not counted.
func TestDeadWorkersLeaveTheFleet(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		if _, err := fleetCall(t.Context(), r.rdb, "dead", `{"id":"dead","lanes":[{"lane":"x","slots":3}]}`, false); err != nil {
			t.Fatal(err)
		}
		pass(beatFor - time.Second)
		if fleet, err := Fleet(t.Context(), r.rdb); err != nil || len(fleet) != 1 || fleet[0].Seen.IsZero() {
			t.Errorf("fleet %+v, err %v", fleet, err)
		}
		pass(2 * time.Second)
		if fleet, err := Fleet(t.Context(), r.rdb); err != nil || len(fleet) != 0 {
			t.Errorf("fleet %+v, err %v, want nobody", fleet, err)
		}
	})
}

// TestBusyWorkerQueuesAtTheLimiter: with all slots taken, rows wait here while
// quota is plenty, and take a ticket while it is short.
func TestBusyWorkerQueuesAtTheLimiter(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(10 * time.Second)
		run := r.enqueue(12, spec())
		r.start(r.config())
		pass(5 * time.Second)
		if _, refused := r.gate.count(); refused != 0 {
			t.Errorf("%d rows asked for a ticket although quota is plenty", refused)
		}
		r.gate.set(func(g *testGate) {
			g.deny = func(limiter.Request) *limiter.Denied {
				return &limiter.Denied{Reason: limiter.ReasonQuota, RetryAfterMS: 60_000}
			}
		})
		pass(7 * time.Second) // the first four calls end, the next four rows are refused
		r.gate.set(func(g *testGate) { g.deny = nil })
		c := r.until(run, 10*time.Second, "nobody waits for a slot", func(c jobs.Counts) bool { return c[jobs.Running] == 0 })
		if c[jobs.Done] != 4 || c[jobs.Waiting] != 8 {
			t.Errorf("rows are %s, want 4 done and 8 waiting", tally(c))
		}
		r.await(run, 5*time.Minute)
	})
}

// oneGate releases one ticket of a lane, and notes what was dropped.
type oneGate struct {
	pulled  []limiter.Pulled
	dropped []string
}

func (g *oneGate) Pull(context.Context, limiter.Lane, int) ([]limiter.Pulled, error) {
	out := g.pulled
	g.pulled = nil
	return out, nil
}

func (g *oneGate) Drop(_ context.Context, _ limiter.Lane, tickets ...string) error {
	g.dropped = append(g.dropped, tickets...)
	return nil
}

// TestSharedBucketStrandsNoJob: a model turns out to share another one's bucket.
// Rows that were enqueued before have their tickets in the line of the other lane
// and their tasks in the queue of the old one: their turn reaches them.
func TestSharedBucketStrandsNoJob(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		run, open := r.allWait(3)
		other := limiter.Lane{Provider: "gemini", Project: "test", Region: "global", Model: "the-bucket"}
		gate := &oneGate{}
		p := &puller{gate: gate, rdb: r.rdb, lane: other, free: func() int { return 1 }, log: slog.New(slog.DiscardHandler),
			now: time.Now, late: map[string]late{}, homes: map[string][]string{}}
		for i := range int64(2) { // the second is found at once
			ticket := jobs.Task{Run: run.ID, Index: i}.ID()
			r.gate.set(func(*testGate) { open[ticket] = true })
			gate.pulled = []limiter.Pulled{{Ticket: ticket, Leaf: limiter.Path{Run: run.ID, Priority: limiter.Low}.Leaf()}}
			p.tick(t.Context())
			if i == 0 {
				pass(lateFor + time.Second)
				p.tick(t.Context()) // looks where it is
				p.tick(t.Context())
			}
			r.until(run, 3*time.Second, "the row is done", func(c jobs.Counts) bool { return c[jobs.Done] == i+1 })
		}
		if len(gate.dropped) > 0 || len(p.late) > 0 {
			t.Errorf("dropped %v, late %v", gate.dropped, p.late)
		}
	})
}
