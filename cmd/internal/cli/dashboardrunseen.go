package cli

import (
	"context"
	"sync"
	"time"

	"nightshift/jobs"
)

// runsSeen keeps what is read of runs' results for as long as the runs stand still,
// and for a moment while they do not: a page that refreshes must not read 10,000
// failed rows each time.
type runsSeen struct {
	mu   sync.Mutex
	runs map[string]*runSeen // guarded by mu
}

type runSeen struct {
	mu                 sync.Mutex
	curve              []jobs.EndPoint
	causes             []*cause
	curveOf, causesOf  jobs.Counts
	curveAt, causesAt  time.Time
	hasCurve, hasCause bool
}

// seenFor is how long what was read of a run that goes on is shown.
const seenFor = 10 * time.Second

// mostSeen is how many runs are kept.
const mostSeen = 100

func (s *runsSeen) of(run string) *runSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.runs) >= mostSeen || s.runs == nil {
		s.runs = map[string]*runSeen{}
	}
	if s.runs[run] == nil {
		s.runs[run] = &runSeen{}
	}
	return s.runs[run]
}

// fresh says whether what was read with some counts may still be shown.
func fresh(of, counts jobs.Counts, at, now time.Time) bool {
	return now.Sub(at) < seenFor || of == counts && counts.Open() == 0
}

func (s *runsSeen) curve(ctx context.Context, b *backend, run jobs.Run, counts jobs.Counts) ([]jobs.EndPoint, error) {
	r, now := s.of(run.ID), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hasCurve && fresh(r.curveOf, counts, r.curveAt, now) {
		return r.curve, nil
	}
	ends, err := b.store.EndCurve(ctx, run.ID, curvePoints)
	if err != nil {
		return nil, err
	}
	r.curve, r.curveOf, r.curveAt, r.hasCurve = ends, counts, now, true
	return ends, nil
}

func (s *runsSeen) causes(ctx context.Context, b *backend, run jobs.Run, counts jobs.Counts) ([]*cause, error) {
	r, now := s.of(run.ID), time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hasCause && fresh(r.causesOf, counts, r.causesAt, now) {
		return r.causes, nil
	}
	table := causeTable{}
	if err := b.eachFailed(ctx, run, table.add); err != nil {
		return nil, err
	}
	r.causes, r.causesOf, r.causesAt, r.hasCause = table.sorted(), counts, now, true
	return r.causes, nil
}

// forget is told that somebody has just changed something.
func (s *runsSeen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = nil
}
