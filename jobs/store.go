package jobs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// StoreOptions are a store's settings; the zero value works.
type StoreOptions struct {
	Timeout time.Duration // of one attempt at a task (asynq's Timeout), 10 min when 0; longer than the longest call
	Batch   int           // rows a round trip at enqueue, 400 when 0 (some 5 ms of Redis); 1 sends no pipelines, which in-memory connections without a buffer need
	Drained string        // directory that Drain writes to, where this process sees it: results that are there only are read from it
	Logger  *slog.Logger  // nil discards
	// Braked is told when the brake of a run has tripped, before the rows that
	// ended are acknowledged, and again at each further end of the run until
	// ReleaseBrake: it is to close the run, and may be called by several goroutines.
	Braked func(context.Context, Braked)
	// Closed tells when the rows of a run could not go on, whatever they were told when
	// they were looked at last: what they waited is by that. It is asked about once a
	// second for a run; nil, or an error, leaves the waits as the rows were told.
	Closed func(context.Context, Run) ([]Stretch, error)
	// Waited is told what rows have waited once they have their ends, added up for those
	// of a run that ended in one step; it may be called by several goroutines and must be
	// quick. A row whose end is stored is told once, or not at all if Redis's answer was lost.
	Waited func(EndedWaits)
	Now    func() time.Time // nil is time.Now
}

// Store is the runs in Redis: their records, ledgers, rows' fields and results.
// It is safe for concurrent use.
type Store struct {
	rdb  redis.UniversalClient
	opts StoreOptions
	log  *slog.Logger
	now  func() time.Time

	begins  *group[Task, Begun]
	moves   *group[move, bool]
	endings *group[ending, bool]
	closed  closedCache
	kinds   rowKinds
}

// NewStore keeps runs in rdb, which stays the caller's to close.
func NewStore(rdb redis.UniversalClient, o StoreOptions) *Store {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Minute)
	o.Batch = cmp.Or(o.Batch, 400)
	s := &Store{rdb: rdb, opts: o, log: o.Logger, now: o.Now}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.begins = newGroup(s.beginAll)
	s.moves = newGroup(s.moveAll)
	s.endings = newGroup(s.finishAll)
	return s
}

// queueOf is where a run's tasks are.
func queueOf(spec Spec) string { return spec.Queue() }

// taskOptions are those of every row's task: attempts, deadlines and ends are
// the ledger's, so asynq is told to try for ever and to keep nothing. (Its
// MaxRetry archives what only waited; its Deadline would end what a pause held
// back, unseen.)
func (s *Store) taskOptions(t Task, queue string) []asynq.Option {
	return []asynq.Option{asynq.TaskID(t.ID()), asynq.Queue(queue), asynq.MaxRetry(1 << 20), asynq.Timeout(s.opts.Timeout)}
}
