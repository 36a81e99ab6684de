package dashboard

import "time"

// The plain types that the home page shows. They are filled by whoever has the
// limiter, the scheduler and the runs; this package knows none of them.

// Level is how much a line asks for attention.
type Level string

// The levels. The empty one is Good.
const (
	Good Level = "good"
	Note Level = "note" // worth knowing, nothing to do
	Warn Level = "warn" // look at it today
	Bad  Level = "bad"  // look at it now
)

// Overview is everything on the home page.
type Overview struct {
	At      time.Time    // of the figures; zero: now
	Health  HealthView   // of the traffic that people wait for
	Pauses  []PauseView  // what is closed now
	Lanes   []LaneView   // quota pools
	Classes []ClassView  // kinds of traffic, the highest first
	Runs    []RunView    // the latest first
	Events  []EventView  // the latest first
	Advice  []AdviceView // what to do, the most urgent first
}

// HealthView is the health monitor's view.
type HealthView struct {
	Phase string // healthy, yield, paused, ramp, trickle, held; "" is not watched
	Level Level
	Text  string // "p95 0.8 s, 0 of 412 refused in the last minute"
	Since time.Time
}

// PauseView is one reason for which something does not run.
type PauseView struct {
	Target string    `json:"target"` // class, run id or queue
	Reason string    `json:"reason"` // health, window, budget, daily, credentials, operator
	Owner  string    `json:"owner,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"` // zero: until someone resumes it
}

// LaneView is a quota pool.
type LaneView struct {
	Name   string
	Level  Level
	Note   string // "resting until 02:14 as the provider asked"
	Limits []LimitView
}

// LimitView is one limit of a lane, all amounts in the limit's unit.
type LimitView struct {
	Name      string // rpm, input_tpm, usd_per_day, …
	Limit     int64  // what is enforced
	Used      int64
	Protected int64 // held for the classes above; shown between Used and Room
	Room      int64 // what bulk may still take now
	Micro     bool  // amounts are micro-dollars
}

// ClassView is a kind of traffic over the last minute.
type ClassView struct {
	Name     string
	Level    Level
	Calls    int64         // a minute
	Share    float64       // of all requests, 0 to 1
	Refused  int64         // by the gate or the provider
	P95      time.Duration // 0: no calls
	InFlight int64
	Waiting  int64
	Note     string
}

// RunView is one run's progress.
type RunView struct {
	ID, Name string
	Class    string
	Level    Level
	Total    int64
	Good     int64 // with a usable answer
	Bad      int64 // ended without one
	Running  int64
	Waiting  int64     // for quota, a pause or another attempt
	ETA      time.Time // zero: unknown or ended
	Note     string    // "waiting for quota", "done in 1h 12m"
}

// EventView is something that happened.
type EventView struct {
	At    time.Time
	Level Level
	Kind  string
	Text  string
	By    string
}

// AdviceView is something to do.
type AdviceView struct {
	Level   Level
	Text    string
	Command string // what to type, if there is such a thing
}
