package worker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// looks counts how often each row asks the limiter.
type looks struct {
	*limiter.Redis

	mu sync.Mutex
	by map[string]int // by ticket
}

func (l *looks) Acquire(ctx context.Context, q limiter.Request) (*limiter.Permit, error) {
	l.mu.Lock()
	l.by[q.Ticket]++
	l.mu.Unlock()
	return l.Redis.Acquire(ctx, q)
}

func (l *looks) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, k := range l.by {
		n += k
	}
	return n
}

// pausedRig is a worker over a real limiter with ample limits.
func pausedRig(t *testing.T) (*rig, *looks) {
	r := newRig(t)
	gate := &looks{Redis: limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{}), by: map[string]int{}}
	configure(t, gate.Redis, limiter.Limits{RPM: 6000})
	cfg := r.config()
	cfg.Gate, cfg.Client = gate, r.clientOver(gate)
	r.start(cfg)
	return r, gate
}

// TestPaused: rows of whatever is paused wait and say why, hardly ask, and keep
// nobody else back; when it is over they come within two seconds.
func TestPaused(t *testing.T) {
	targets := map[string]func(jobs.Run) limiter.Pause{
		"class": func(jobs.Run) limiter.Pause { return limiter.Pause{Class: "bulk"} },
		"run":   func(run jobs.Run) limiter.Pause { return limiter.Pause{Run: run.ID} },
		"queue": func(jobs.Run) limiter.Pause {
			return limiter.Pause{Lane: testLane, Priority: limiter.Priority(jobs.Low)}
		},
	}
	for name, target := range targets {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				r, gate := pausedRig(t)
				const rows = 40
				run := r.enqueue(rows, spec(func(s *jobs.Spec) { s.Name, s.Priority = "paused", jobs.Low }))
				pause := target(run)
				pause.Reason, pause.Owner, pause.Detail = "operator", "ann", "new prompt"
				if err := gate.Pause(t.Context(), pause); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Second) // what was under way ends
				before, _ := r.store.Counts(t.Context(), run.ID)
				asked := gate.total()
				pass(45 * time.Second)
				if c, _ := r.store.Counts(t.Context(), run.ID); c != before || c[jobs.Waiting] == 0 || c.Open() != c[jobs.Waiting] {
					t.Errorf("while paused rows went from %s to %s", tally(before), tally(c))
				}
				if n := gate.total() - asked; n > rows/2 {
					t.Errorf("%d rows asked %d times in 45 s", before[jobs.Waiting], n)
				}
				if name != "class" {
					other := r.enqueue(20, spec(func(s *jobs.Spec) { s.Name = "other" }))
					if c := r.await(other, 15*time.Second); c[jobs.Done] != 20 {
						t.Errorf("other rows are %s", tally(c))
					}
				}
				r.eachWaits(run, rows)
				if err := gate.Lift(t.Context(), pause, "operator"); err != nil {
					t.Fatal(err)
				}
				calls := len(r.sim.Calls())
				pass(2 * time.Second)
				if n := len(r.sim.Calls()) - calls; n < 4 {
					t.Errorf("%d calls within 2 s of the resume, want all 4 slots busy", n)
				}
				if c := r.await(run, time.Minute); c[jobs.Done] != rows {
					t.Errorf("rows are %s", tally(c))
				}
			})
		})
	}
}

// eachWaits checks what asynq shows of a run's waiting rows.
func (r *rig) eachWaits(run jobs.Run, rows int64) {
	r.Helper()
	var tasks []jobs.Task
	for i := range rows {
		tasks = append(tasks, jobs.Task{Run: run.ID, Index: i})
	}
	texts, err := r.store.LastErrors(r.Context(), jobs.Queue(run.Spec.Priority, testLane), tasks)
	if err != nil {
		r.Fatal(err)
	}
	said := 0
	for i, text := range texts {
		if text == "" {
			continue // ended
		}
		said++
		if !strings.HasPrefix(text, "paused by operator (ann: new prompt) until ") || !strings.HasSuffix(text, " (not a failure)") {
			r.Errorf("of row %d it says %q", i, text)
		}
	}
	if c, _ := r.store.Counts(r.Context(), run.ID); int64(said) != c.Open() {
		r.Errorf("%d of %d rows say why they wait", said, c.Open())
	}
}
