package limiter

import "time"

// keptEvents is about how many events a scope keeps.
const keptEvents = 20_000

// keptAudit is about how many entries of what people did a scope keeps: years of
// them, at a hundred a day.
const keptAudit = 100_000

// The kinds of events.
const (
	EventPause    = "pause"
	EventResume   = "resume"
	EventThrottle = "throttle"
	EventLimits   = "limits"   // the configuration changed; Configure notes it
	EventBreaker  = "breaker"  // a lane rests since its calls are hopeless: no quota, no money, no such model, a bad key
	EventCooldown = "cooldown" // a lane rests since the provider asked for it
	EventFeedback = "feedback" // the provider's refusals lowered a limit
	EventProvider = "provider" // the provider fails for a lane, or is well again
	EventAlert    = "alert"    // somebody should look
	EventHealth   = "health"
	EventLease    = "lease" // who leads
	EventKeys     = "keys"
)

// Event is something that happened to the scope as a whole and that an operator
// may ask about later.
type Event struct {
	At      time.Time         `json:"at"` // Redis's clock, in ms; Note sets it
	Kind    string            `json:"kind"`
	Subject string            `json:"subject,omitempty"` // what it happened to: a lane, class, run, queue
	Text    string            `json:"text"`              // one line for people
	By      string            `json:"by,omitempty"`      // who did it: a process or a person
	Data    map[string]string `json:"data,omitempty"`
}

// DataHappened is the field of Event.Data that has when it did happen, in RFC 3339, where
// that was noticed later.
const DataHappened = "happened"

// Happened is when it did, as far as that is known: it may have been noticed later, At.
func (e Event) Happened() time.Time {
	if t, err := time.Parse(time.RFC3339Nano, e.Data[DataHappened]); err == nil && t.Before(e.At) {
		return t
	}
	return e.At
}

func (e Event) check() error {
	if e.Kind == "" {
		return wrong("event.kind", "is empty")
	}
	return nil
}
