package scheduler

import (
	"fmt"
	"time"

	"nightshift/limiter"
)

// Phase is how far the monitor has gone.
type Phase string

// The phases. A hold is none of them: while it lasts none is left.
const (
	Healthy Phase = "healthy" // nothing is held back
	Yield   Phase = "yield"   // pausable classes have their guarantee, at least a tenth
	Paused  Phase = "paused"  // pausable classes are closed
	Ramping Phase = "ramp"    // they come back little by little
	Trickle Phase = "trickle" // pausing did not help: they have a little until callers were well again
)

// State is what the monitor has decided. It is kept in Redis, so that a standby
// goes on where the leader fell.
type State struct {
	Phase  Phase         `json:"phase"`
	Since  time.Time     `json:"since"`            // of the phase
	Looked time.Time     `json:"looked"`           // last
	Bad    int           `json:"bad"`              // looks in a row
	Good   int           `json:"good"`             // looks in a row
	Why    string        `json:"why,omitempty"`    // what the last bad look saw
	From   Phase         `json:"from,omitempty"`   // of a ramp: where it falls back to
	Ramped time.Duration `json:"ramped,omitempty"` // of a ramp: how much of it is gone
}

// Look is one judgement of the callers' health.
type Look struct {
	At   time.Time // Redis's clock
	Bad  bool
	Why  string // the first threshold that is crossed
	Hold Hold   // what holds the monitor; zero: nothing
}

// Hold keeps the monitor from deciding.
type Hold struct {
	Until time.Time `json:"until"`
	By    string    `json:"by"`
	// Open also lifts what the monitor had closed or throttled. Without it what
	// is in force stays so.
	Open bool `json:"open,omitempty"`
}

func (h Hold) holds(at time.Time) bool { return h.Until.After(at) }

// Action is a change that the monitor decided on, as the event that tells of it.
type Action struct {
	Kind string // a kind of limiter.Event
	Text string
}

// Decide gives the state after a look. It has no effect of its own: what a state
// asks for is its wants.
func (r Rules) Decide(s State, l Look) (State, []Action) {
	r = r.orDefault()
	if s.Phase == "" || l.At.Sub(s.Looked) > PauseLease {
		s = State{Phase: Healthy, Since: l.At, Looked: l.At} // what nobody renewed has lapsed
	}
	step := max(l.At.Sub(s.Looked), 0)
	s.Looked = l.At
	if l.Hold.holds(l.At) {
		return s.held(l)
	}
	s.count(l)
	switch s.Phase {
	case Yield:
		return r.yielding(s, l)
	case Paused:
		return r.pausing(s, l)
	case Ramping:
		return r.ramping(s, l, step)
	case Trickle:
		return r.trickling(s, l)
	}
	if s.Bad >= r.Bad {
		return s.enter(Yield, l), []Action{{limiter.EventThrottle, "bulk yields: " + l.Why}}
	}
	return s, nil
}

func (s *State) count(l Look) {
	if l.Bad {
		s.Bad, s.Good, s.Why = s.Bad+1, 0, l.Why
		return
	}
	s.Bad, s.Good = 0, s.Good+1
}

// enter begins a phase. Looks count anew in each.
func (s State) enter(p Phase, l Look) State {
	return State{Phase: p, Since: l.At, Looked: l.At, Why: s.Why}
}

func (s State) held(l Look) (State, []Action) {
	s.Bad, s.Good = 0, 0
	if !l.Hold.Open || s.Phase == Healthy {
		return s, nil
	}
	text := fmt.Sprintf("bulk resumes: overridden by %s until %s", l.Hold.By, limiter.Instant(l.Hold.Until))
	return s.enter(Healthy, l), []Action{{limiter.EventResume, text}}
}

func (r Rules) yielding(s State, l Look) (State, []Action) {
	switch {
	case s.Bad >= r.Bad:
		return s.enter(Paused, l), []Action{{limiter.EventPause, "bulk is paused: " + l.Why}}
	case s.Good >= r.Good:
		return r.ramp(s, l)
	}
	return s, nil
}

func (r Rules) pausing(s State, l Look) (State, []Action) {
	if s.Good >= r.Good {
		return r.ramp(s, l)
	}
	if l.Bad && l.At.Sub(s.Since) >= r.GiveUp {
		text := fmt.Sprintf("not caused by bulk: still unhealthy after a pause of %s (%s); bulk goes on at %s until callers are well",
			l.At.Sub(s.Since).Round(time.Second), l.Why, limiter.Share(r.TricklePPM))
		return s.enter(Trickle, l), []Action{{limiter.EventAlert, text}}
	}
	return s, nil
}

func (r Rules) trickling(s State, l Look) (State, []Action) {
	if s.Good >= r.Good {
		return r.ramp(s, l)
	}
	return s, nil
}

func (r Rules) ramp(s State, l Look) (State, []Action) {
	next := s.enter(Ramping, l)
	next.From = s.Phase
	return next, []Action{{limiter.EventResume, fmt.Sprintf("callers are well: bulk resumes over %s", r.Ramp)}}
}

// ramping goes on at good looks, stands still at bad ones, and falls back to
// where it came from when they repeat.
func (r Rules) ramping(s State, l Look, step time.Duration) (State, []Action) {
	switch {
	case s.Bad >= r.Bad:
		return s.enter(s.From, l), []Action{{s.From.event(), fmt.Sprintf("bulk falls back to %s: %s", s.From, l.Why)}}
	case l.Bad:
		return s, nil
	}
	if s.Ramped += step; s.Ramped >= r.Ramp {
		return s.enter(Healthy, l), []Action{{limiter.EventHealth, "bulk has all of its share again"}}
	}
	return s, nil
}

func (p Phase) event() string {
	if p == Paused {
		return limiter.EventPause
	}
	return limiter.EventThrottle
}
