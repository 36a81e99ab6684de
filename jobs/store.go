package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// StoreOptions are a store's settings; the zero value works.
type StoreOptions struct {
	Timeout time.Duration // of one attempt at a task (asynq's Timeout), 10 min when 0
	Batch   int           // rows a round trip at enqueue, 200 when 0; 1 sends no pipelines, which in-memory connections need
	Logger  *slog.Logger
	Now     func() time.Time
}

// Store is the runs in Redis: records, ledgers, rows' fields and results.
type Store struct{}

// NewStore keeps runs in rdb, which stays the caller's to close.
func NewStore(rdb redis.UniversalClient, o StoreOptions) *Store { panic("being built") }

// ErrNoRun says that no run matches; ErrNoRow that the run has no such row.
var (
	ErrNoRun = errors.New("no such run")
	ErrNoRow = errors.New("no such row")
)

// AmbiguousError says that a shortened run id matches several.
type AmbiguousError struct {
	Ref     string
	Matches []Run
}

func (e *AmbiguousError) Error() string { panic("being built") }

// Find gives the run that ref means: "" is the latest; a name, an id or the
// beginning of one id.
func (s *Store) Find(ctx context.Context, ref string) (Run, error) { panic("being built") }

// Load gives the run of exactly this id.
func (s *Store) Load(ctx context.Context, id string) (Run, error) { panic("being built") }

// Runs lists all runs, the latest first.
func (s *Store) Runs(ctx context.Context) ([]Run, error) { panic("being built") }

// Counts are the run's rows by state.
func (s *Store) Counts(ctx context.Context, run string) (Counts, error) { panic("being built") }

// Lanes are the lanes that have, or had, queues.
func (s *Store) Lanes(ctx context.Context) ([]string, error) { panic("being built") }

// RowInfo is all that is known of one row.
type RowInfo struct {
	Task
	Row    string
	State  State
	Queue  string
	Fields json.RawMessage
	Result *Result // of its last end; nil while it has none
}

// Row looks one row up by the id the user knows.
func (s *Store) Row(ctx context.Context, run, row string) (RowInfo, error) { panic("being built") }

// Outcome is what a handler is to do with its task.
type Outcome int

// The outcomes of Begin.
const (
	Proceed          Outcome = iota // the row is Running now and is this handler's
	OutcomeFinished                 // the row has its end already: acknowledge
	OutcomeStale                    // a newer generation has taken over, or the row left the run: acknowledge
	OutcomeCancelled                // the run was cancelled: acknowledge
)

// Begun is what the ledger says to a handler that starts.
type Begun struct {
	Outcome Outcome
	From    State           // the state it was in; Running after a worker died
	Row     string          // the id the user knows
	Fields  json.RawMessage // one JSON object; what the template is rendered from
}

// Begin moves a row to Running.
func (s *Store) Begin(ctx context.Context, t Task) (Begun, error) { panic("being built") }

// Wait moves a row from Running to Waiting: it was refused a permit.
func (s *Store) Wait(ctx context.Context, t Task) error { panic("being built") }

// RetryWait moves a row from Running to RetryWait: it failed and will be tried
// again.
func (s *Store) RetryWait(ctx context.Context, t Task) error { panic("being built") }

// Finish gives a row its end, r.Status, and stores r. False says that the row
// had its end already or that a newer generation has taken over: r was not
// kept. Any open row can be finished by its own generation; a row that was
// cancelled while in flight keeps a good result that comes late.
func (s *Store) Finish(ctx context.Context, t Task, r Result) (bool, error) { panic("being built") }

// EnqueueOptions are the choices of one enqueue.
type EnqueueOptions struct {
	// Update lets a run's rows change: rows whose key changed are made again,
	// rows that are no longer in the input leave the run.
	Update bool
	// Have says that a new row's result exists already, elsewhere: Done or
	// Cached enters the row as that, without a task. None enqueues it.
	Have     func(row, key string) State
	Progress func(done, total int64)
}

// EnqueueReport says what an enqueue did.
type EnqueueReport struct {
	Run      Run
	Queue    string
	New      int64 // entered and enqueued
	Known    int64 // were there already, unchanged
	Changed  int64 // enqueued again, since what makes their answer changed
	Removed  int64 // left the run: no longer in the input
	Repaired int64 // of Known: had lost their task (a crash while enqueueing) and got it back
	Taken    int64 // of New: entered as finished, by Have
}

// ChangedError says that the run of this name was made from something else.
// Nothing was changed; EnqueueOptions.Update accepts the difference.
type ChangedError struct {
	Run                   Run
	What                  []string // "template", "system instruction", "model", "settings", "rows", …
	New, Changed, Removed int64
}

func (e *ChangedError) Error() string { panic("being built") }

// Enqueue records the run, enters its rows in the ledger and puts their tasks
// on the queue, adding only what is missing.
func (s *Store) Enqueue(ctx context.Context, p *Prepared, o EnqueueOptions) (EnqueueReport, error) {
	panic("being built")
}

// CancelReport says what a cancel did.
type CancelReport struct {
	Cancelled int64 // were not finished; includes InFlight
	InFlight  int64 // were with a worker: a good answer that still comes is kept
	Finished  int64 // had their end already and keep it
}

// Cancel ends all rows of a run that are not finished.
func (s *Store) Cancel(ctx context.Context, run string) (CancelReport, error) { panic("being built") }

// RetryFilter chooses among a run's rows that ended badly; zero takes all.
type RetryFilter struct {
	States []State
	Causes []string // RowError.Cause
	Rows   []string // row ids
}

// Retry enqueues rows that ended badly again, as a new generation.
func (s *Store) Retry(ctx context.Context, run string, f RetryFilter) (int64, error) {
	panic("being built")
}

// ResultsOptions choose results and their order.
type ResultsOptions struct {
	States    []State // empty: all that have ended
	Completed bool    // in the order they ended instead of the input's
}

// Results gives fn each row that has ended.
func (s *Store) Results(ctx context.Context, run string, o ResultsOptions, fn func(Result) error) error {
	panic("being built")
}

// ResultLines is Results without decoding: each line is one JSON object, with
// no line break in it, valid until fn returns.
func (s *Store) ResultLines(ctx context.Context, run string, o ResultsOptions, fn func(line []byte) error) error {
	panic("being built")
}

// SweepReport says what a sweep found and mended.
type SweepReport struct {
	Open       int64 // rows that are not finished: all were asked for
	Recreated  int64 // had no task
	Unarchived int64 // were archived, by hand or by asynq
	Leaseless  int64 // active without a lease: asynq takes them up again unless their worker lives
	Requeued   int64 // in a state that asynq's own lists did not know
	Demoted    int64 // Running in the ledger while their task waits: their worker died
}

// Sweep compares a run's open rows with asynq's tasks and mends what differs.
func (s *Store) Sweep(ctx context.Context, run string) (SweepReport, error) { panic("being built") }

// Sink takes results as they come.
type Sink interface {
	Put(ctx context.Context, r Result) error
}

// FileSinkOptions are a results file's settings.
type FileSinkOptions struct {
	Fallback string // folder that takes paid answers when the file cannot; empty keeps them in memory until Close
	Stdout   interface{ Write([]byte) (int, error) }
}

// FileSink appends results to a file, synced before Put returns.
type FileSink struct{}

// OpenFileSink opens or creates a results file for one writer; "-" is Stdout.
func OpenFileSink(path string, o FileSinkOptions) (*FileSink, error) { panic("being built") }

// Put appends one result; it is on disk when Put returns.
func (f *FileSink) Put(ctx context.Context, r Result) error { panic("being built") }

// Have says what the file held of a row when it was opened: Done or Cached
// when it has a good result with this key, else None. It fits EnqueueOptions.
func (f *FileSink) Have(row, key string) State { panic("being built") }

// Close writes what is left and gives the file free.
func (f *FileSink) Close() error { panic("being built") }

// SinkError says that a results file cannot be written: the run must stop.
type SinkError struct {
	Path   string
	Kept   string // where the answers are that could not be written; empty: nowhere but in memory
	Unkept int    // answers that are in no file
	Err    error
}

func (e *SinkError) Error() string { panic("being built") }
func (e *SinkError) Unwrap() error { return e.Err }

// Spool keeps results that Redis refused, in a folder of this machine.
type Spool struct{}

// OpenSpool opens or creates the folder.
func OpenSpool(dir string) (*Spool, error) { panic("being built") }

// Put keeps a result.
func (sp *Spool) Put(t Task, r Result) error { panic("being built") }

// Get gives a result that is still here: the handler looks before it calls.
func (sp *Spool) Get(t Task) (Result, bool) { panic("being built") }

// Deliver finishes what it can in the store and says how many are left.
func (sp *Spool) Deliver(ctx context.Context, s *Store) (left int, err error) { panic("being built") }
