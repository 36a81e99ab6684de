package scheduler

import (
	"cmp"
	"log/slog"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"

	"github.com/redis/go-redis/v9"
)

// The reasons to pause. Each is set and lifted by itself; what it closes stays
// closed while one of them holds.
const (
	ReasonHealth      = "health"               // interactive callers suffer: the monitor's
	ReasonWindow      = "window"               // outside its work window
	ReasonBudget      = "budget"               // money is spent
	ReasonDaily       = "daily"                // the day's quota is used up
	ReasonCredentials = "credentials"          // the provider refuses our key
	ReasonCounters    = limiter.ReasonCounters // what was used of the day or month is lost
	ReasonOperator    = "operator"             // a person's, lifted by a person only
	ReasonStop        = "stop"                 // an emergency stop's of a tenant or team, lifted with it
	ReasonBrake       = worker.ReasonBrake     // a run's own, since its rows fail; lifted by a person only
)

const (
	// PauseLease is how long a pause of the monitor or of a work window holds
	// without being renewed: a dead scheduler's lapses by itself.
	PauseLease = 30 * time.Second
	// QueueOverride is how long a queue stays open that a person resumed in
	// asynqmon during a health pause.
	QueueOverride = 30 * time.Minute

	ownerScheduler = "scheduler"
	ownerAsynqmon  = "asynqmon" // of a pause that was made by asynq's own means
)

// Control pauses and resumes. A pause closes its target in the limiter, so that
// nothing of it starts by whatever way, and closes the asynq queues that it
// leaves without work, so that no worker looks at their jobs in vain: a queue is
// closed while it is paused itself, or while every class that has unfinished
// runs in it is; one without unfinished runs follows the class bulk.
//
// It is safe for concurrent use, and by any number of processes.
type Control struct {
	Redis   redis.UniversalClient
	Limiter *limiter.Redis
	Store   *jobs.Store
	Scope   limiter.Scope
	Classes []limiter.Class // of the configuration

	CallTimeout time.Duration    // no call lasts longer; default 2 min
	Now         func() time.Time // default Redis's clock
	Logger      *slog.Logger     // nothing is logged when nil
}

// PauseRequest is what to pause and why.
type PauseRequest struct {
	Target Target
	Reason string    // default ReasonOperator
	Owner  string    // who pauses: a user, "dashboard"
	Until  time.Time // zero: until it is resumed
	Detail string    // for people
}

// ResumeRequest says who resumes.
type ResumeRequest struct {
	By string
	// Override lifts a health pause too, and keeps the monitor from deciding for
	// so long. For a queue: the queue alone is open for so long.
	Override time.Duration
}

// Effect is what a pause or a resume did.
type Effect struct {
	Target Target          `json:"target"`
	Closed []string        `json:"closed,omitempty"` // queues that are closed now and were open
	Opened []string        `json:"opened,omitempty"` // queues that are open now and were closed
	Lifted int             `json:"lifted,omitempty"` // reasons that were lifted
	Still  []limiter.Pause `json:"still,omitempty"`  // other reasons that still hold the target
	// InFlight rows of the target are with the provider now: they end by
	// themselves, the last within EndsWithin. Calls that come through the
	// gateway or the library are not counted.
	InFlight   int64  `json:"in_flight"`
	EndsWithin Millis `json:"ends_within_ms"`
	// Looks are the breakers that the next call looks at, since a person said so.
	Looks []limiter.BreakerState `json:"looks,omitempty"`
	// Until is when an override ends; zero without one.
	Until time.Time `json:"until,omitzero"`
}

func (c *Control) callTimeout() time.Duration { return cmp.Or(c.CallTimeout, 2*time.Minute) }

func (c *Control) log() *slog.Logger { return orDiscard(c.Logger) }

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
