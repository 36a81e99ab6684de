package limiter

import (
	"fmt"
	"time"
)

// Reason is the rule that refused. A caller acts on it; operators read Denied.Error.
type Reason string

// The reasons.
const (
	ReasonTooLarge    Reason = "too_large"    // larger than a limit: refused for good, never waits
	ReasonQuota       Reason = "quota"        // a limit has no room now
	ReasonShare       Reason = "share"        // the limit has room, but not for this class: held for one above, throttled or capped (Detail)
	ReasonSmoothing   Reason = "smoothing"    // room there is, but the class would burst
	ReasonTurn        Reason = "turn"         // others are before it in the line
	ReasonSlots       Reason = "slots"        // no free worker slot
	ReasonPaused      Reason = "paused"       // the class, run or queue is paused
	ReasonCooldown    Reason = "cooldown"     // the provider asked for a rest
	ReasonBreaker     Reason = "breaker"      // calls are hopeless now
	ReasonSpend       Reason = "spend"        // a money limit
	ReasonCredentials Reason = "credentials"  // the provider refuses our key
	ReasonUnknownLane Reason = "unknown_lane" // no limits are configured for the lane
	ReasonUnavailable Reason = "unavailable"  // the shared state cannot be reached
	ReasonDeadline    Reason = "deadline"     // too little time is left for a call that is worth sending
	ReasonProvider    Reason = "provider"     // the provider refused what we admitted
	ReasonNoPrice     Reason = "no_price"     // nobody knows what the model costs, and a money limit holds
)

// Decision says where a refusal was made (design 5).
type Decision string

// The decisions.
const (
	RejectedLocally              Decision = "rejected_locally"
	Queued                       Decision = "queued"
	Degraded                     Decision = "degraded"
	AdmittedThenProviderRejected Decision = "admitted_then_provider_rejected"
)

// Denied is the one error of local and provider refusals. Its JSON form is
// what the gateway answers, what call records keep and what `why` reads.
type Denied struct {
	Type     string   `json:"type"`    // "quota_denied"
	Limiter  string   `json:"limiter"` // the limit that binds, by shorthand: "rpm", "input_tpm", …; "" where none does
	Node     string   `json:"node"`    // whose limit: "lane", "tenant/acme", …
	Provider string   `json:"provider"`
	Project  string   `json:"project"`
	Model    string   `json:"model"`
	Class    string   `json:"class"`
	Feature  string   `json:"feature,omitempty"`
	Path     Path     `json:"path"`
	Reason   Reason   `json:"reason"`
	Decision Decision `json:"gateway_decision"`

	Limit     int64    `json:"limit,omitempty"`    // the binding limit's amount; of a throttle or cap, what it leaves to the class
	Used      int64    `json:"used,omitempty"`     // what was in use when it refused, by all or by the class likewise
	Shortage  int64    `json:"shortage,omitempty"` // how much was missing
	Estimates Amounts  `json:"estimates"`          // indexed by Unit
	Holders   []Holder `json:"holders,omitempty"`  // who holds the binding limit, the largest first
	Lent      int64    `json:"lent,omitempty"`     // what lower classes use of it that this class could have

	RetryAt      time.Time `json:"retry_at"`       // when to come back; zero for ReasonTooLarge
	RetryAfterMS int64     `json:"retry_after_ms"` // the same as a distance on the deciding clock; always > 0 unless Permanent
	Ticket       string    `json:"ticket,omitempty"`
	Position     int64     `json:"position,omitempty"` // place in its leaf's line, from 1
	Permanent    bool      `json:"permanent,omitempty"`

	FallbackAllowed bool   `json:"fallback_allowed"`
	TraceID         string `json:"trace_id,omitempty"`
	Detail          string `json:"detail,omitempty"` // pause owner and reason, provider's reason; no keys, no bodies

	uses   string // what Holders come from: by class
	unit   Unit   // of the limit that binds
	window Window
	cause  error // what kept the shared state from deciding, for ReasonUnavailable
}

// Holder is a class's part of a limit's use.
type Holder struct {
	Class string `json:"class"`
	Used  int64  `json:"used"`
}

// Unwrap gives the cause of ReasonUnavailable.
func (d *Denied) Unwrap() error { return d.cause }

// whose names the limit, with its node where that is not the lane.
func (d *Denied) whose() string {
	if d.Node == "" || d.Node == "lane" {
		return d.Limiter
	}
	return d.Limiter + " of " + d.Node
}

// RetryAfter is how long to wait, by the clock that decided.
func (d *Denied) RetryAfter() time.Duration { return time.Duration(d.RetryAfterMS) * time.Millisecond }

// AskAgain is how soon one who waits in place (Request.Wait) asks again: at the front
// sooner, which keeps the cost of many who wait within bounds; with a ticket at the pace
// of pulls; and when the limit frees, if that is sooner.
func (d *Denied) AskAgain() time.Duration {
	again := 500 * time.Millisecond
	switch {
	case d.Ticket != "":
		again = 500 * time.Millisecond
	case d.Position <= 4:
		again = 50 * time.Millisecond
	case d.Position <= 16:
		again = 200 * time.Millisecond
	}
	return min(again, d.RetryAfter())
}

// Error names the limit, whose it is, and when to come back.
func (d *Denied) Error() string {
	what := d.Detail
	switch d.Reason {
	case ReasonTooLarge:
		if d.Money() {
			return d.tooDear()
		}
		return fmt.Sprintf("request is larger than %s of %s: limit %d, needs %d; it can never be admitted",
			d.whose(), d.Model, d.Limit, d.Limit+d.Shortage)
	case ReasonQuota, ReasonShare, ReasonSpend:
		if d.Limiter == "" { // the provider's limit, not ours
			break
		}
		what = fmt.Sprintf("%s: %d of %d used, %d missing", d.whose(), d.Used, d.Limit, d.Shortage)
		if d.Money() {
			what = fmt.Sprintf("%s: %s of %s used, %s left, %s missing", d.whose(),
				dollars(d.Used), dollars(d.Limit), dollars(max(0, d.Limit-d.Used)), dollars(d.Shortage))
		}
		if d.Detail != "" {
			what += "; " + d.Detail
		}
	case ReasonUnknownLane:
		return fmt.Sprintf("no limits are configured for model %s", d.Model)
	case ReasonUnavailable:
		return fmt.Sprintf("no permit for %s as %s: the shared state cannot be reached: %v", d.Model, d.Class, d.cause)
	}
	if what != "" {
		what = " (" + what + ")"
	}
	when := "retry in " + d.RetryAfter().Round(time.Millisecond).String()
	if d.RetryAfter() > time.Hour {
		when = "retry at " + Instant(d.RetryAt)
	}
	return fmt.Sprintf("no permit for %s as %s: %s%s, %s", d.Model, d.Class, d.Reason, what, when)
}
