package limiter

import "time"

// Config is everything the shared state must know to decide: written by
// Configure, read by the scripts, the same for every process of a scope.
// Fractions are in parts per million, since all arithmetic is in integers.
type Config struct {
	Scope   Scope        `json:"scope"`
	Lanes   []LaneConfig `json:"lanes"`
	Classes []Class      `json:"classes"` // from the highest down; lending goes down only
	// Nodes are the limits of nodes other than lanes: "tenant/acme", "feature/chat";
	// "tenant/*" are those of each tenant that has none of its own. Kinds are
	// project (ProjectNode, on every call's way), organization, tenant, team, key,
	// run and feature. They hold over all lanes.
	Nodes map[string]Limits `json:"nodes,omitempty"`
	// Shadow names limits that decide and report, and refuse nothing: by lane
	// (Lane.String) or node, the limits' shorthands.
	Shadow  map[string][]string `json:"shadow,omitempty"`
	Weights map[string]int64    `json:"weights,omitempty"`  // leaf or node → weight, 1 when absent; priorities as "priority/high"
	MonthTZ string              `json:"month_tz,omitempty"` // zone of calendar months; default America/Los_Angeles
	// SoftPPM is the part of a day's or month's money limit up to which pausable
	// classes go; the rest is kept for the others, whose permits say so once it is
	// begun (Permit.Soft). A run's own limit is spent to its end. 0: no such part.
	SoftPPM  int64  `json:"soft_ppm,omitempty"`
	Revision string `json:"revision,omitempty"` // digest of the source, to tell two configurations apart
	By       string `json:"by,omitempty"`       // who configures, for events: "host web-1 pid 4711"
	Source   string `json:"source,omitempty"`   // what it was read from, for people: "nightshift.yaml"
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
	Name         string `json:"name"`
	GuaranteePPM int64  `json:"guarantee_ppm"`         // upper bound of what is protected for it
	FloorPPM     int64  `json:"floor_ppm"`             // always protected for it
	TricklePPM   int64  `json:"trickle_ppm,omitempty"` // it may always use this much, so that it never starves
	// CapPPM is the most that it may use of each minute's and ten minutes' limit,
	// however idle the rest is; a request larger than that is refused for good. 0: no cap.
	CapPPM int64 `json:"cap_ppm,omitempty"`
	// OutputFloorPPM is FloorPPM for limits of output tokens: room for long answers.
	OutputFloorPPM int64 `json:"output_floor_ppm,omitempty"`

	MaxWait  time.Duration `json:"max_wait"` // how long a caller waits in place; 0 refuses at once
	Pausable bool          `json:"pausable"`
	Smooth   bool          `json:"smooth"`  // every class below interactive
	Tickets  bool          `json:"tickets"` // refused jobs wait in lines and are pulled
	Fallback string        `json:"fallback,omitempty"`
}
