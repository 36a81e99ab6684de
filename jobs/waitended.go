package jobs

import (
	"context"
	"sync"
	"time"
)

// EndedWaits are what rows of a run have waited that ended together, from when they were
// enqueued to their last permit: the sum of their results' waits_ms.
type EndedWaits struct {
	Lane, Class, Feature string // the run's
	Rows                 int64
	Waits                Waits
}

// take adds a row. One that takes another's answer has waited for nothing.
func (w *EndedWaits) take(e ending) {
	if e.state == Cached {
		return
	}
	w.Rows++
	w.Waits.decode(e.waits)
}

// tellWaits gives the sums of rows that have just ended to who counts them. A row whose end
// was stored while its answer was lost is not among them: it would be told twice, or not.
func (s *Store) tellWaits(ctx context.Context, run string, w EndedWaits) {
	if s.opts.Waited == nil || w.Rows == 0 {
		return
	}
	spec, err := s.kinds.of(ctx, s, run)
	if err != nil {
		s.log.Debug("what rows have waited is not counted", "run", run, "rows", w.Rows, "err", err)
		return
	}
	w.Lane, w.Class, w.Feature = spec.lane, spec.class, spec.feature
	s.opts.Waited(w)
}

const (
	// kindKept is how long what a run's rows count as is used: an update may change it.
	kindKept = time.Minute
	// mostKinds bounds for how many runs it is kept.
	mostKinds = 1000
)

// rowKinds is what the rows of runs count as: one read of a run's record a minute.
type rowKinds struct {
	mu   sync.Mutex
	runs map[string]rowKind
}

type rowKind struct {
	at                   time.Time
	lane, class, feature string
}

func (k *rowKinds) of(ctx context.Context, s *Store, run string) (rowKind, error) {
	now := s.now()
	k.mu.Lock()
	have, ok := k.runs[run]
	k.mu.Unlock()
	if ok && now.Sub(have.at).Abs() < kindKept {
		return have, nil
	}
	m, err := s.meta(ctx, run)
	if err != nil {
		return have, err
	}
	have = rowKind{now, m.Spec.Lane, m.Spec.Class, m.Spec.Feature}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.runs == nil || len(k.runs) >= mostKinds {
		k.runs = map[string]rowKind{}
	}
	k.runs[run] = have
	return have, nil
}
