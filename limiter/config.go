package limiter

import "time"

// Config is everything the shared state must know to decide: written by
// Configure, read by the scripts, the same for every process of a scope.
// Fractions are in parts per million, since all arithmetic is in integers.
type Config struct {
	Scope    Scope             `json:"scope"`
	Lanes    []LaneConfig      `json:"lanes"`
	Classes  []Class           `json:"classes"`            // from the highest down; lending goes down only
	Nodes    map[string]Limits `json:"nodes,omitempty"`    // limits of nodes other than lanes: "tenant/acme", "feature/chat", "run/…" (enforced from the limiter issue on)
	Weights  map[string]int64  `json:"weights,omitempty"`  // leaf or node → weight, 1 when absent; priorities as "priority/high"
	MonthTZ  string            `json:"month_tz,omitempty"` // zone of calendar months; default America/Los_Angeles
	Revision string            `json:"revision,omitempty"` // digest of the source, to tell two configurations apart
}

// LaneConfig is a lane's limits and shares.
type LaneConfig struct {
	Lane   Lane   `json:"lane"`
	Limits Limits `json:"limits"`
	// OutsidePPM of each minute and day limit is left for calls that bypass the
	// gate. Default 50000 (0.05) is the caller's to fill; 0 means none.
	OutsidePPM int64 `json:"outside_ppm"`
	// Lend is how the classes' floors are found: "auto", "now" or "never" (design 4.3).
	Lend string `json:"lend"`
}

// Class is a kind of traffic.
type Class struct {
	Name         string        `json:"name"`
	GuaranteePPM int64         `json:"guarantee_ppm"`         // upper bound of what is protected for it
	FloorPPM     int64         `json:"floor_ppm"`             // always protected for it
	TricklePPM   int64         `json:"trickle_ppm,omitempty"` // it may always use this much, so that it never starves
	MaxWait      time.Duration `json:"max_wait"`              // how long a caller waits in place; 0 refuses at once
	Pausable     bool          `json:"pausable"`
	Smooth       bool          `json:"smooth"`  // every class below interactive
	Tickets      bool          `json:"tickets"` // refused jobs wait in lines and are pulled
	Fallback     string        `json:"fallback,omitempty"`
}

// Pause closes a class in the acquire script until it is lifted or ends.
// Several may hold at once; the class is closed while one does.
type Pause struct {
	Class  string    `json:"class"`
	Reason string    `json:"reason"` // health, window, budget, daily, credentials, operator
	Owner  string    `json:"owner"`
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitempty"` // zero: until lifted
	Detail string    `json:"detail,omitempty"`
}
