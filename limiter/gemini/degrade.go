package gemini

import (
	"context"
	"net/http"
	"time"

	"nightshift/limiter"
)

// Degrader finds another answer for a call that gets none of its model's.
// *Fallbacks is one; a service may bring its own. ok is false when there is no
// other answer: the caller then gets the refusal as it is. A Degrader that is a
// Keeper too is shown the good answers.
type Degrader interface {
	Degrade(context.Context, DegradeRequest) (a DegradedAnswer, ok bool, err error)
}

// Keeper takes whole, good answers of a model, so that a Degrader can give them
// again. Keeps says whether those of such a call are wanted at all.
type Keeper interface {
	Keeps(DegradeRequest) bool
	Keep(ctx context.Context, r DegradeRequest, answer []byte)
}

// DegradeKind is what a caller got instead of its model's answer.
type DegradeKind string

// The kinds, from the nearest to the model's own answer.
const (
	DegradedCached DegradeKind = "cached" // an earlier whole answer to the same request
	DegradedLight  DegradeKind = "light"  // the service's own: a template or a func
	DegradedModel  DegradeKind = "model"  // another model's answer
	DegradedCanned DegradeKind = "canned" // always the same text
)

// degradeKinds are all, in the order in which they are counted.
var degradeKinds = [...]DegradeKind{DegradedCached, DegradedLight, DegradedModel, DegradedCanned}

// DegradeRequest is a call that gets no answer of its model.
type DegradeRequest struct {
	Cause   DegradeCause
	Caller  Caller
	Lane    limiter.Lane
	Model   Model           // the bucket
	Version string          // of the API: "v1beta"
	Stream  bool            // the caller reads a stream
	Body    []byte          // the request as the caller sent it; not to be changed
	Denied  *limiter.Denied // the limiter's refusal; nil when the provider refused, or for soft_spend
	Verdict *Verdict        // what the provider's answer means; nil when it was not asked

	// Call sends a request to another model with a permit of that model's own
	// lane. Its answer is passed on only when it is a good one, and what refuses
	// it is the error; it never degrades again, and never waits for a permit.
	Call func(ctx context.Context, model string, body []byte) (*http.Response, error)
}

// wait is how long it takes until it is worth asking again, as far as that is known.
func (r DegradeRequest) wait() time.Duration {
	switch {
	case r.Denied != nil:
		return r.Denied.RetryAfter()
	case r.Verdict != nil:
		return r.Verdict.RetryAfter
	}
	return 0
}

// DegradedAnswer is what a Degrader found. One of Text, Body and Response is set.
type DegradedAnswer struct {
	Kind     DegradeKind
	Text     string         // put into Gemini's shape by the transport
	Body     []byte         // a whole answer in Gemini's shape, unary; its usage is set to zero
	Response *http.Response // another model's, as DegradeRequest.Call gave it
	Model    string         // whose answer it is; "" for none's
	Note     string         // what is other than was asked for: "dropped thinkingConfig"
}

// Degradation is what an Observation says of an answer that is not the model's own.
type Degradation struct {
	Kind   DegradeKind     `json:"kind"`
	Reason DegradeCause    `json:"reason"`
	Model  string          `json:"model,omitempty"` // whose answer it is; "" for none's
	Note   string          `json:"note,omitempty"`
	Denied *limiter.Denied `json:"-"` // what refused the call that was asked for; nil when the provider did
}

// HeaderDegraded marks an answer that is not the model's own:
// "canned; reason=spend", "model; reason=quota; model=gemini-2.5-flash-lite".
const HeaderDegraded = "X-Nightshift-Degraded"

// String is the value of HeaderDegraded.
func (d *Degradation) String() string {
	s := string(d.Kind) + "; reason=" + string(d.Reason)
	if d.Model != "" {
		s += "; model=" + d.Model
	}
	if d.Note != "" {
		s += "; note=" + d.Note
	}
	return s
}
