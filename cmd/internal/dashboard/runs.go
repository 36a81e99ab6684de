package dashboard

import (
	"context"
	"sync"
	"time"

	"nightshift/jobs"
)

// rest is what a formatter remembers between tasks: its runs, and that lookups
// have just failed, so that a slow Redis costs a page one wait and not one for
// each task on it.
type rest struct {
	mu   sync.Mutex
	runs map[string]jobs.Run // by id
	idle time.Time           // no lookups before
}

func (r *rest) until(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.idle)
}

func (r *rest) failed(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = now.Add(lookupPause)
}

// run gives a run's record. Its name and attempts hardly ever change.
func (r *rest) run(ctx context.Context, store *jobs.Store, id string) (jobs.Run, bool) {
	r.mu.Lock()
	run, ok := r.runs[id]
	r.mu.Unlock()
	if ok || store == nil {
		return run, ok
	}
	run, err := store.Load(ctx, id)
	if err != nil {
		return jobs.Run{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.runs) >= maxRuns {
		clear(r.runs)
	}
	r.runs[id] = run
	return run, true
}

// title is the run's name with its id, or the id.
func (r *rest) title(ctx context.Context, store *jobs.Store, id string) string {
	run, ok := r.run(ctx, store, id)
	if !ok || run.Spec.Name == "" {
		return id
	}
	return run.Spec.Name + " (" + id + ")"
}

// retries are how many real failures a row of the run may have and still be
// tried again.
func (r *rest) retries(ctx context.Context, store *jobs.Store, id string) (int, bool) {
	run, ok := r.run(ctx, store, id)
	return max(run.Spec.Attempts-1, 0), ok
}
