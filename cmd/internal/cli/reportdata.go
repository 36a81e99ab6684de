package cli

import (
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// runReport is what a run did with its night. Everything in it is computed when it is
// made, so that it can be kept and shown again without the Redis that it is from.
type runReport struct {
	At    time.Time `json:"at"`             // when it was made
	Zone  string    `json:"zone,omitempty"` // of the times that people read; "" is this machine's
	Run   jobs.Run  `json:"run"`
	From  time.Time `json:"from"`           // the run was enqueued
	To    time.Time `json:"to"`             // its last row ended; while it is open, now
	Ended bool      `json:"ended"`          // no row is open
	Phase string    `json:"phase"`          // what it is doing, in a word
	Hold  string    `json:"hold,omitempty"` // what keeps it from working
	ETA   time.Time `json:"eta,omitzero"`   // of a run that is open, where it is known
	// Stands is what stopped the run so that nobody knows an end before somebody acts: its
	// cap, its brake, a person's pause without end, or one that its deadline comes before.
	Stands string `json:"stands,omitempty"`

	Do      []reportStep     `json:"do"` // what a person should do, the most urgent first
	States  map[string]int64 `json:"states"`
	Rows    int64            `json:"rows"`
	Good    int64            `json:"good"`
	Open    int64            `json:"open"`
	Bad     int64            `json:"bad"`
	Missed  int64            `json:"missed,omitempty"` // rows that ended at the deadline
	Failed  []*cause         `json:"failed"`
	Planned *jobs.Planned    `json:"planned,omitempty"` // what was expected; nil where nobody said
	Cost    reportCost       `json:"cost"`
	Waits   []reportWait     `json:"waits"`
	Quota   []reportQuota    `json:"quota"`
	Days    []reportDay      `json:"days,omitempty"` // what was used of limits that are for a day
	People  []reportPeople   `json:"people"`
	Events  []reportEvent    `json:"events"`
	Unknown []string         `json:"unknown"` // what could not be found out, and why
}

// reportStep is one thing to do.
type reportStep struct {
	Why     string `json:"why"`
	Command string `json:"command,omitempty"`
}

// reportCost is what the run took. Known is false where its calls are not told apart
// from others'.
type reportCost struct {
	Known    bool  `json:"known"`
	Calls    int64 `json:"calls"`
	Unseen   int64 `json:"calls_unseen,omitempty"` // not of Calls: were under way when their worker died, and what they cost nobody knows
	Attempts int64 `json:"attempts,omitempty"`     // of rows that ended, by their results: those that died with a worker are in it
	Input    int64 `json:"input_tokens"`
	Output   int64 `json:"output_tokens"`
	MicroUSD int64 `json:"micro_usd"`

	Tiers []reportTier `json:"tiers,omitempty"` // that served, by name
}

// reportWait is how long rows waited for one cause, added up over all rows.
type reportWait struct {
	Cause string `json:"cause"`
	MS    int64  `json:"ms"`
}

// reportQuota is how one limit of the run's model was used.
type reportQuota struct {
	Model   string        `json:"model"`
	Limit   string        `json:"limit"`  // "rpm"
	Amount  int64         `json:"amount"` // the largest that was in force in the time
	Least   int64         `json:"least"`  // and the smallest: parts are of what held then
	StepMS  int64         `json:"step_ms"`
	Average float64       `json:"average"` // parts of the limit, over the whole time
	Peak    float64       `json:"peak"`    // of the fullest step
	PeakAt  time.Time     `json:"peak_at"`
	Points  []reportPoint `json:"points"`
}

// reportPoint is one step of the chart, in parts of the limit.
type reportPoint struct {
	At     time.Time `json:"at"`
	Bulk   float64   `json:"bulk"`   // of classes that may be paused
	People float64   `json:"people"` // of the others
}

// reportPeople is what one class of callers who wait saw meanwhile.
type reportPeople struct {
	Class       string    `json:"class"`
	Calls       int64     `json:"calls"`
	Refused     int64     `json:"refused"` // by us, for want of room
	OwnLimit    int64     `json:"own_limit"`
	Provider429 int64     `json:"provider_429"`
	Failed      int64     `json:"provider_failed"`
	P95MS       int64     `json:"p95_ms"`
	WorstMS     int64     `json:"worst_p95_ms"` // p95 of the worst step with at least worstCalls calls
	WorstAt     time.Time `json:"worst_at,omitzero"`
}

// reportEvent is something that mattered, several of one kind together.
type reportEvent struct {
	limiter.Event
	Times int `json:"times"` // how often this happened in a row; At is the first
}
