package scheduler

import (
	"context"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// endedFor is how long the counts of a run that has ended are taken as they were:
// only a retry changes them.
const endedFor = time.Minute

// runTally remembers what was counted, so that what grew can be told, and runs that
// have ended need not be read each time.
type runTally struct {
	since    time.Time // when the first reading was: runs that are newer had nothing before
	seen     map[string]talliedRun
	enqueued map[string]int64
	ended    map[string]*[jobs.NumStates]int64 // by class
}

type talliedRun struct {
	counts jobs.Counts
	stamp  time.Time // Run.Updated
	read   time.Time
}

// rows tells how many rows there are, and counts those that came and ended.
func (c *FleetCollector) rows(ctx context.Context, s *sheet) error {
	now, err := c.Control.now(ctx)
	if err != nil {
		return err
	}
	runs, err := c.Control.Store.Runs(ctx)
	if err != nil {
		return err
	}
	for _, k := range c.Control.Classes {
		c.class0(s, k.Name)
	}
	s.add(fleet.runs, 0, "open")
	s.add(fleet.runs, 0, "ended")
	seen := make(map[string]talliedRun, len(runs))
	for _, r := range runs {
		if lane, err := limiter.ParseLane(r.Spec.Lane); err != nil || lane.Scope() != c.Control.Scope {
			continue
		}
		t, err := c.runs.tally(ctx, c.Control.Store, r, c.class(r.Spec.Class), now)
		if err != nil {
			return err
		}
		seen[r.ID] = t
		c.run(s, c.class(r.Spec.Class), t.counts)
	}
	c.runs.seen = seen
	if c.runs.since.IsZero() {
		c.runs.since = now
	}
	c.runs.tell(s)
	return nil
}

// class0 tells that a class has no rows, where nothing is added.
func (c *FleetCollector) class0(s *sheet, class string) {
	for _, state := range []jobs.State{jobs.Queued, jobs.Waiting, jobs.Running, jobs.RetryWait} {
		s.add(fleet.rows, 0, class, state.String())
	}
}

func (c *FleetCollector) run(s *sheet, class string, n jobs.Counts) {
	for state := jobs.None + 1; state < jobs.NumStates; state++ {
		if n[state] > 0 {
			s.add(fleet.rows, float64(n[state]), class, state.String())
		}
	}
	state := "ended"
	if n.Open() > 0 {
		state = "open"
	}
	s.add(fleet.runs, 1, state)
}

// tally reads a run's counts and adds up what is more than before.
func (t *runTally) tally(ctx context.Context, store *jobs.Store, r jobs.Run, class string, now time.Time) (talliedRun, error) {
	old, known := t.seen[r.ID]
	if known && old.counts.Open() == 0 && old.stamp.Equal(r.Updated) && now.Sub(old.read) < endedFor {
		return old, nil
	}
	n, err := store.Counts(ctx, r.ID)
	if err != nil {
		return old, err
	}
	if known || !t.since.IsZero() && !r.Created.Before(t.since) {
		t.grow(class, old.counts, n)
	}
	return talliedRun{counts: n, stamp: r.Updated, read: now}, nil
}

func (t *runTally) grow(class string, old, n jobs.Counts) {
	if t.ended == nil {
		t.enqueued, t.ended = map[string]int64{}, map[string]*[jobs.NumStates]int64{}
	}
	if t.ended[class] == nil {
		t.ended[class] = new([jobs.NumStates]int64)
	}
	t.enqueued[class] += max(0, n.Total()-old.Total())
	for s := jobs.None + 1; s < jobs.NumStates; s++ {
		if s.Terminal() {
			t.ended[class][s] += max(0, n[s]-old[s])
		}
	}
}

func (t *runTally) tell(s *sheet) {
	for class, n := range t.enqueued {
		s.count(fleet.enqueued, float64(n), class)
		for state, n := range t.ended[class] {
			if jobs.State(state).Terminal() {
				s.count(fleet.ended, float64(n), class, jobs.State(state).String())
			}
		}
	}
}
