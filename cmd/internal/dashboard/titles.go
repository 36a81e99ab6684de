package dashboard

import (
	"context"
	"sync"
	"time"

	"nightshift/jobs"
)

// rest is what a formatter remembers between tasks: names of runs, and that
// lookups have just failed, so that a slow Redis costs a page one wait and not
// one for each task on it.
type rest struct {
	mu     sync.Mutex
	titles map[string]string // by run id
	idle   time.Time         // no lookups before
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

// title is the run's name with its id, or the id.
func (r *rest) title(ctx context.Context, store *jobs.Store, run string) string {
	r.mu.Lock()
	title, ok := r.titles[run]
	r.mu.Unlock()
	if ok {
		return title
	}
	loaded, err := store.Load(ctx, run)
	if err != nil {
		return run
	}
	if title = loaded.Title(); title != run {
		title += " (" + run + ")"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.titles) >= maxRunTitles {
		clear(r.titles)
	}
	r.titles[run] = title
	return title
}
