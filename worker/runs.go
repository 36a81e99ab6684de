package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nightshift/jobs"
)

// run is a run's record with all that its rows share, made once.
type run struct {
	jobs.Run
	template *jobs.Template
	shapes   map[*jobs.Settings]*shape // of the settings that rows share
}

// runCache keeps the runs that this worker has rows of.
type runCache struct {
	store *jobs.Store
	now   func() time.Time

	mu   sync.Mutex
	runs map[string]*cachedRun
}

type cachedRun struct {
	*run
	used time.Time
}

func newRunCache(store *jobs.Store, now func() time.Time) *runCache {
	return &runCache{store: store, now: now, runs: map[string]*cachedRun{}}
}

// get gives a run's record as the ledger has it now, which says so by its
// digest: --update may have changed it since it was read.
func (c *runCache) get(ctx context.Context, id, digest string) (*run, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.runs[id]; have != nil && have.Stamp() == digest {
		have.used = c.now()
		return have.run, nil
	}
	rec, err := c.store.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	c.forget()
	r, err := newRun(rec)
	if err != nil {
		return nil, &badRunError{err}
	}
	c.runs[id] = &cachedRun{run: r, used: c.now()}
	return r, nil
}

// forget drops the runs that had no row for ten minutes.
func (c *runCache) forget() {
	for id, r := range c.runs {
		if c.now().Sub(r.used) > 10*time.Minute {
			delete(c.runs, id)
		}
	}
}

// badRunError says that no row of a run can be done: its record is there, but
// what it asks for cannot be made.
type badRunError struct{ err error }

func (e *badRunError) Error() string { return e.err.Error() }
func (e *badRunError) Unwrap() error { return e.err }

func newRun(rec jobs.Run) (*run, error) {
	r := &run{Run: rec, shapes: map[*jobs.Settings]*shape{}}
	var err error
	if r.template, err = jobs.Compile(rec.Spec); err != nil {
		return nil, fmt.Errorf("the run's template: %w", err)
	}
	for _, s := range r.template.Settings() {
		if r.shapes[s], err = newShape(s); err != nil {
			return nil, fmt.Errorf("the run's %w", err)
		}
	}
	return r, nil
}

// shape is that of a request: made once for those that share their settings.
func (r *run) shape(req *jobs.Request) (*shape, error) {
	if s := r.shapes[req.Settings]; s != nil {
		return s, nil
	}
	return newShape(req.Settings)
}
