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

// NowQuery is what of the first page is asked for; the zero value is its top.
type NowQuery struct {
	Lane  string // one lane, by its model or whole name, with all there is to say of it
	Text  string // that lanes, paths, features and lines must contain
	Page  int    // of the lanes, from 1 on
	Paths int    // page of the paths, from 1 on
}

// Overview is everything on the first page.
type Overview struct {
	At      time.Time // of the figures; zero: now
	Project string
	Totals  TotalsView
	Health  HealthView   // of the traffic that people wait for
	Pauses  []PauseView  // what is closed now
	Lanes   []LaneView   // quota pools: one page of them, what is in trouble first, then the most used
	Paths   []PathView   // tenants and others with limits of their own: one page of them
	Users   []UserView   // who had the quota of the last minute, the largest first
	Tenants []UserView   // the same by tenant, who is named as Feature, of up to two minutes; durations are not kept
	Waits   []WaitView   // who waits for what, the longest line first
	Classes []ClassView  // kinds of traffic, the highest first
	Runs    []RunView    // the latest first
	Events  []EventView  // the last decisions, the latest first
	Advice  []AdviceView // what to do, the most urgent first
	Answers []AnswerView // of one lane: what a call of each class would be told now

	LanesFound, PathsFound int // that the query's text is in
	UsersFound, WaitsFound int
	TenantsFound           int
}

// How many lines a page has of each.
const (
	LanesOnPage = 10
	PathsOnPage = 20
	UsersOnPage = 15
	WaitsOnPage = 15
	RunsOnPage  = 10
)

// TotalsView is the fleet in a few figures.
type TotalsView struct {
	Lanes    int
	Troubled int   // lanes that rest or are closed
	Paths    int   // with limits of their own
	Calls    int64 // of the last minute
	Requests int64 // as the quota counts them
	Input    int64 // tokens of the last minute
	Output   int64
	Refused  int64 // by us, for want of room or time, or a pause
	OwnLimit int64 // by us: by limits of the callers' own
	Provider int64 // by the provider: 429s
	Waiting  int64 // for quota, in the lanes shown and all runs
	Workers  int
	OpenRuns int
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
	Until  time.Time `json:"until,omitzero"` // zero: nobody knows, and Ends says what has to happen
	Ends   string    `json:"ends,omitempty"` // "until the work window opens"
	Resume string    `json:"-"`              // what the action "resume" takes as its target, where it can lift it
}

// LaneView is a quota pool.
type LaneView struct {
	Name     string // its model
	Whole    string // provider/project/region/model
	Level    Level
	Notes    []string // what holds it: "resting until 02:14 as the provider asked"
	InFlight int64
	Waiting  int64
	Limits   []LimitView
}

// LimitView is one limit of a lane or path, all amounts in the limit's unit.
type LimitView struct {
	Name      string // rpm, input_tpm, usd_per_day, …
	Set       int64  // as configured, or set over that
	Effective int64  // what is enforced of it
	Used      int64  // what is borrowed included
	Borrowed  int64  // of Used: what would have to end if its owners claimed it now
	Reserved  int64  // kept for the classes above and not used
	Lent      int64  // guarantees that lower classes may use now
	Booked    int64  // by what waits
	Room      int64  // what bulk may still take now
	Micro     bool   // amounts are micro-dollars
	NextFree  string // when the next of it is free: "in 12 s"
	Source    string // where it was set
	Notes     []string
	Shadow    bool // refuses nothing
	Unset     bool // nobody set it: Set says nothing
	Parts     []PartView
}

// PartView is a class's part of a limit.
type PartView struct {
	Class                                  string
	Used, Reserved, Lent, Borrowed, Booked int64
	Room                                   int64
	Why                                    string // where its part comes from
}

// PathView is a tenant, team, key, run or feature with limits of its own.
type PathView struct {
	Name   string // tenant/acme
	From   string // where its limits stand, if not at itself: tenant/*
	Limits []LimitView
}

// UserView is who had how much of the quota in the last minute.
type UserView struct {
	Feature, Class    string
	Requests, Tokens  int64
	RequestsShare     float64 // of all requests, 0 to 1
	TokensShare       float64
	Refused, Rejected int64 // by us, by the provider
	OwnLimit          int64 // by us, and not of Refused: by a limit of its own
	P95               time.Duration
	Degraded          int64
}

// WaitView is a line of those who wait.
type WaitView struct {
	Lane, Class, Line string
	Waiting           int64
	InPlace           bool      // callers who hold on; else jobs that come again
	Share             float64   // of what the class gets
	For               string    // what they wait for
	Until             time.Time // about when all of them are through; zero: not known
	UntilNote         string    // what Until is, or what is known instead: "somebody resumes it"
}

// AnswerView is what the limiter would say to a call of a class now.
type AnswerView struct {
	Class string
	Level Level
	Text  string
	Call  string // what kind of call that is
}

// ClassView is a kind of traffic over the last minute.
type ClassView struct {
	Name     string
	Level    Level
	Calls    int64         // a minute
	Share    float64       // of all requests, 0 to 1
	Refused  int64         // by the gate or the provider; not by limits of the callers' own
	P95      time.Duration // 0: no calls
	InFlight int64
	Waiting  int64
	Note     string
	Pausable bool
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
	Open     bool      // some rows have not ended
	Paused   bool      // by somebody, who may resume it
	ETA      time.Time // zero: unknown or ended
	Ended    time.Time // zero: unknown or open
	Note     string    // "waiting for quota", "done in 1h 12m"
	Model    string
	Feature  string
	Created  time.Time
}

// EventView is something that happened.
type EventView struct {
	At    time.Time
	Level Level
	Kind  string
	Text  string
	By    string
	Why   string // what that means, and what ends it
}

// AdviceView is something to do.
type AdviceView struct {
	Level   Level
	Text    string
	Command string // what to type, if there is such a thing
	Links   []LinkView
}

// LinkView is a page of the dashboard that helps; it is shown where there is such a page.
type LinkView struct{ Path, Query, Text string }
