package gemini

import (
	"context"
	"time"

	"nightshift/limiter"
)

// Observation is what the transport saw of the last call made under its
// context. Read it after the call returned; for a stream after the body ended,
// failed or was closed. One context observes one call at a time.
type Observation struct {
	Denied  *limiter.Denied // why no call was made; nil when one was
	Permit  *limiter.Permit // nil when none was given
	Verdict *Verdict        // what the answer means; nil when it is good
	// Consequence is what follows from Verdict; nil without one.
	Consequence *Consequence
	Lane        limiter.Lane    //
	Estimate    limiter.Amounts //
	Usage       Usage           // zero unless HasUsage
	HasUsage    bool            // the provider reported usage
	Used        limiter.Amounts // what the permit was settled with
	Status      int             // HTTP status; 0 when there was no answer
	Tier        string          // the service tier that was asked for; which one served is Usage.Tier. "" for the API's default, standard
	Finish      string          // the worst finishReason, or "" when there was none
	Waited      time.Duration   // for the permit
	Took        time.Duration   // from sending to the last byte
	// FirstToken is from sending to the first token of a stream, at least 1 ns;
	// 0 for what had none.
	FirstToken time.Duration
	Over       string           // with TransportConfig.Observe: the limit or reason that would have refused
	Soft       bool             // let through by the local allowance, without a permit
	Sent       int              // calls that went out under the context, this one included
	MicroUSD   int64            // what was charged by the price book, in micro-dollars: PicoUSD less what earlier calls were rounded up by
	Assumed    bool             // the cost is assumed: the answer broke off before it said what it took
	PicoUSD    int64            // cost by the price book, exact; 10¹² are a dollar
	Price      PriceState       // "" when the price is known for the model and the time
	Priced     bool             // the price is known
	TraceID    string           //
	Degraded   *Degradation     // the answer is not the model's own; the rest is about the call that gave it
	Decision   limiter.Decision // "" for a call that was admitted and not refused by the provider
	Asked      string           // the model that the caller named
	Called     string           // the model that the call went to, or was to go to: an alias's, or one that a ramp moved it to
	caller     Caller
	cacheSaved int64          // Record.CacheSaved
	waitedFor  limiter.Reason // Record.WaitedFor
}

type observationKey struct{}

// Observe gives a context whose calls are observed.
func Observe(ctx context.Context) (context.Context, *Observation) {
	o := &Observation{}
	return context.WithValue(ctx, observationKey{}, o), o
}

// observation gives the context's, or one that nobody reads.
func observation(ctx context.Context) *Observation {
	if o, ok := ctx.Value(observationKey{}).(*Observation); ok {
		*o = Observation{Sent: o.Sent}
		return o
	}
	return &Observation{}
}

// Refusal gives the call's refusal in the form that local and provider refusals
// share, or nil: the limiter's own, or the provider's of what we had admitted.
func (o *Observation) Refusal() *limiter.Denied {
	if o.Denied != nil || o.Verdict == nil || o.Status < 400 {
		return o.Denied
	}
	v := o.Verdict
	return &limiter.Denied{
		Type: "quota_denied", Limiter: v.Reason, Node: "lane",
		Provider: o.Lane.Provider, Project: o.Lane.Project, Model: o.Lane.Model,
		Class: o.caller.Class, Feature: o.caller.Feature, Path: o.caller.Path,
		Reason: limiter.ReasonProvider, Decision: limiter.AdmittedThenProviderRejected,
		Limit: v.Limit, Estimates: o.Estimate,
		RetryAt: v.RetryAt, RetryAfterMS: v.RetryAfter.Milliseconds(), Permanent: v.Kind == Permanent,
		TraceID: o.TraceID, Detail: v.Reason,
	}
}

// keyLook is when a caller whose call the provider refused for our key may come back:
// when the breaker that this opened lets the first call look.
const keyLook = time.Minute

// KeyRefused gives the refusal of a call that the provider refused for the key that
// we put on, in the form of those that are held back for that, or nil. Its caller can
// mend nothing, and the provider's text is about a key that is none of his.
func (o *Observation) KeyRefused(now time.Time) *limiter.Denied {
	if o.Verdict == nil || o.Verdict.Kind != Permanent || !o.Verdict.Credential || o.Degraded != nil {
		return nil
	}
	d := o.Refusal()
	if d == nil {
		return nil
	}
	d.Reason, d.Limiter, d.Permanent = limiter.ReasonCredentials, "", false
	d.RetryAfterMS, d.RetryAt, d.Detail = keyLook.Milliseconds(), now.Add(keyLook), inWords(*o.Verdict)
	return d
}
