package gateway

import (
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// permitAnswer is what is said of a permit.
type permitAnswer struct {
	ID        string           `json:"id"`
	State     string           `json:"state"` // open, lapsed, settled or released
	Model     string           `json:"model"` // to be called
	Method    string           `json:"method"`
	Lane      string           `json:"lane"`
	Class     string           `json:"class"`
	Feature   string           `json:"feature"`
	GrantedAt time.Time        `json:"granted_at"`
	ExpiresAt time.Time        `json:"expires_at"`
	LeaseMS   int64            `json:"lease_ms"` // what is left of the lease
	WaitedMS  int64            `json:"waited_ms"`
	Charged   map[string]int64 `json:"charged"` // by unit
	Assumed   bool             `json:"assumed"` // nobody said what was used
	Repeated  bool             `json:"repeated"`
	TraceID   string           `json:"trace_id"`
	Over      string           `json:"over,omitempty"`
	Verdict   *permitVerdict   `json:"verdict,omitempty"`
}

// permitVerdict is what an answer of Gemini's that was no good means.
type permitVerdict struct {
	Kind         string `json:"kind"`
	Scope        string `json:"scope"`
	Reason       string `json:"reason"`
	RetryAfterMS int64  `json:"retry_after_ms"`
}

func (v *visit) permitAnswer(l gemini.Loan) permitAnswer {
	a := permitAnswer{
		ID: l.ID, State: stateOf(l), Model: l.Model, Method: l.Method, Lane: l.Lane.String(), Class: l.Class, Feature: l.Feature,
		GrantedAt: l.Granted.UTC(), ExpiresAt: l.Expires.UTC(), WaitedMS: l.Waited.Milliseconds(),
		Charged: chargedOf(l.Charged), Assumed: l.Assumed, Repeated: l.Repeated, TraceID: l.TraceID, Over: l.Over,
	}
	if a.State == string(gemini.LoanOpen) {
		a.LeaseMS = max(0, l.Expires.Sub(l.Now).Milliseconds())
	}
	if x := v.obs.Verdict; x != nil {
		a.Verdict = &permitVerdict{string(x.Kind), string(x.Scope), x.Reason, x.RetryAfter.Milliseconds()}
	}
	return a
}

func stateOf(l gemini.Loan) string {
	if l.State == gemini.LoanOpen && l.Lapsed {
		return "lapsed"
	}
	return string(l.State)
}

// chargedOf gives what is used up, by unit, zeros too; what is only held while the
// call runs is no part of it.
func chargedOf(a limiter.Amounts) map[string]int64 {
	out := map[string]int64{}
	for unit, n := range a {
		if u := limiter.Unit(unit); u != limiter.Concurrency && u != limiter.Streams {
			out[u.String()] = n
		}
	}
	return out
}
