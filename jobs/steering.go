package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// What follows when a run is not done by its deadline.
const (
	LateStop     = "stop"     // its open rows end as expired; the default
	LateContinue = "continue" // it goes on
	LateUpgrade  = "upgrade"  // before that more is done for it, then it goes on
)

// Steering is what may change while a run goes on. None of it is part of what
// makes an answer, so that changing it redoes nothing.
type Steering struct {
	// Window is the timetable of the run ("22:00-07:00@100%, else @10%"), in Zone, an
	// IANA name; "" works at any time, beside the windows of its class.
	Window string `json:"window,omitempty"`
	Zone   string `json:"zone,omitempty"`
	// Clocks is the zone, an IANA name, of whoever said last by the clock when the run may
	// work or has to be done: times of the run are told in it where Zone is "".
	Clocks string `json:"clocks,omitempty"`
	// Deadline is when the run has to be done; zero: whenever it is. OnLate says what
	// follows when it is not: "stop" (the default), "continue" or "upgrade".
	Deadline time.Time `json:"deadline,omitzero"`
	OnLate   string    `json:"on_late,omitempty"`
	// MaxCost is what all of the run's calls may cost together, in micro-dollars; at
	// that it is paused. 0: no cap of its own.
	MaxCost int64 `json:"max_cost_micro_usd,omitempty"`
	// Weight is the run's part beside other runs of its class; 0 is 1.
	Weight int64 `json:"weight,omitempty"`
	// Ramp is over which time from RampFrom on the run's rate grows from a tenth to all
	// of what it may have; 0: all at once.
	Ramp     time.Duration `json:"ramp,omitempty"`
	RampFrom time.Time     `json:"ramp_from,omitzero"`
	// ServiceTier is the tier to ask for: "flex", "standard", "priority" or "auto";
	// "" is the API's own default, standard.
	ServiceTier string `json:"service_tier,omitempty"`
	// Keep is how long the run is kept once it has ended; 0: as long as the
	// configuration says, KeepForever: until it is purged.
	Keep time.Duration `json:"keep,omitempty"`
}

// KeepForever as Steering.Keep keeps a run until somebody purges it.
const KeepForever = time.Duration(-1)

// Location is the zone in which times of the run are told; fallback where it has none.
func (s Steering) Location(fallback *time.Location) *time.Location {
	for _, name := range []string{s.Zone, s.Clocks} {
		if zone, err := time.LoadLocation(name); err == nil && name != "" {
			return zone
		}
	}
	return fallback
}

// Stops tells whether rows that are open at the deadline end as expired.
func (s Steering) Stops() bool {
	return !s.Deadline.IsZero() && cmp.Or(s.OnLate, LateStop) == LateStop
}

// Late is by how much the deadline that stops the run has passed; 0 while it has
// not, or does not stop it.
func (s Steering) Late(now time.Time) time.Duration {
	if !s.Stops() {
		return 0
	}
	return max(now.Sub(s.Deadline), 0)
}

// Misses tells whether a run that is done then, zero for never, misses its deadline. Who
// tells a person that a run will be late and who does something about it go by this.
func (s Steering) Misses(done time.Time) bool {
	return !s.Deadline.IsZero() && (done.IsZero() || done.After(s.Deadline))
}

// Watched tells whether somebody has to look after the run while it goes on.
func (s Steering) Watched() bool {
	return s.Window != "" || !s.Deadline.IsZero() || s.MaxCost > 0 || s.Weight > 1 || s.Ramp > 0
}

// mostWeight bounds a run's weight: beside it the others hardly have a part.
const mostWeight = 1000

// Check finds a setting that means nothing. What a window says is not looked at.
func (s Steering) Check() error {
	switch {
	case !slices.Contains([]string{"", LateStop, LateContinue, LateUpgrade}, s.OnLate):
		return fmt.Errorf("on-late %q: want %s, %s or %s", s.OnLate, LateStop, LateContinue, LateUpgrade)
	case s.OnLate != "" && s.Deadline.IsZero():
		return fmt.Errorf("on-late %s: there is no deadline to be late for", s.OnLate)
	case s.MaxCost < 0:
		return fmt.Errorf("max-cost: must be above zero")
	case s.Ramp < 0 || s.Ramp > LongestRamp:
		return fmt.Errorf("ramp %s: want 0s to %s", s.Ramp, LongestRamp)
	case s.Weight < 0 || s.Weight > mostWeight:
		return fmt.Errorf("weight %d: want 1 to %d", s.Weight, mostWeight)
	}
	return nil
}

// over is what holds when a run is enqueued again: what is said now over what was
// said before.
func (s Steering) over(was Steering) Steering {
	if s.Window == "" {
		s.Window, s.Zone = was.Window, was.Zone
	}
	if s.Deadline.IsZero() {
		s.Deadline = was.Deadline
	}
	s.Clocks = cmp.Or(s.Clocks, was.Clocks)
	s.OnLate = cmp.Or(s.OnLate, was.OnLate)
	if s.Ramp == 0 {
		s.Ramp, s.RampFrom = was.Ramp, was.RampFrom
	}
	s.MaxCost = cmp.Or(s.MaxCost, was.MaxCost)
	s.Weight = cmp.Or(s.Weight, was.Weight)
	s.ServiceTier = cmp.Or(s.ServiceTier, was.ServiceTier)
	s.Keep = cmp.Or(s.Keep, was.Keep)
	return s
}
