package gemini

import (
	"context"
	"net/http"
	"time"

	"nightshift/limiter"
)

// Settle ends a loan by what its call took, or corrects it when that is Partial:
// usage so far only ever raises what is charged. The call is classified, recorded
// and learned from as one of the Transport's own; a refusal in the provider's words
// lets the lane rest. Settling again changes nothing and answers the same; a loan
// that has lapsed is corrected, one that was released is a *LoanError. The context's
// Observation tells what the call was.
func (l *Lender) Settle(ctx context.Context, owner, id string, end LoanEnd) (Loan, error) {
	if err := end.check(); err != nil {
		return Loan{}, err
	}
	if end.Partial {
		return l.soFar(ctx, owner, id, *end.Usage)
	}
	var c *call
	var was loan
	got, err := l.change(ctx, owner, id, func(held *loan) (loan, time.Duration, error) {
		if was = *held; held.State == LoanReleased {
			return loan{}, 0, held.over(id)
		}
		if c == nil {
			c = l.callOf(ctx, held)
		}
		return c.ends(held, end), loanKept, nil
	})
	if err != nil {
		return Loan{}, err
	}
	got.Repeated, got.Lapsed = was.State != LoanOpen, was.Lapsed
	c.conclude(got, was.Probe && !was.Lapsed)
	return got, nil
}

// ends gives the loan as it is once it has ended so. One that is settled already
// stays as it is.
func (c *call) ends(held *loan, end LoanEnd) loan {
	to := *held
	if held.State != LoanOpen {
		return to
	}
	if c.obs.Used == (limiter.Amounts{}) {
		c.took(end)
	}
	to.State, to.Charged, to.Assumed = LoanSettled, c.obs.Used, c.obs.Assumed
	if c.obs.HasUsage {
		u := c.obs.Usage
		to.Usage = &u
	}
	return to
}

// callOf makes the call again that a loan was asked for.
func (l *Lender) callOf(ctx context.Context, held *loan) *call {
	r, _ := lentRoute(held.Model, held.Method) // it was one when the loan was made
	c := &call{
		t: l.t, ctx: ctx, obs: observation(ctx), lent: true, route: r, routing: routing{asked: held.Asked}, begin: held.Begin, sentAt: held.Granted,
		guess:  held.Guess.estimate(held.Estimate),
		caller: Caller{Class: held.Class, Feature: held.Feature, Path: held.Path, TraceID: held.TraceID},
	}
	c.obs.caller, c.obs.Lane, c.obs.TraceID, c.obs.Estimate = c.caller, held.Lane, held.TraceID, held.Estimate
	c.obs.Permit = &limiter.Permit{ID: held.Permit, Lane: held.Lane, Class: held.Class, Granted: held.Granted, Expires: held.Expires, Amounts: held.Charged}
	c.obs.Waited, c.obs.Over, c.obs.Sent = held.Waited, held.Over, 1
	if _, c.model, _ = l.t.cfg.Lanes.lookupOr(held.Model, held.Lane); c.model.Name == "" { // it was taken out of the configuration
		c.model = Model{Name: held.Model, Context: DefaultContext, MaxOutput: DefaultMaxOutput}
	}
	c.ask = Ask{Method: held.Method, Model: c.model, Lane: held.Lane, Class: held.Class, Feature: held.Feature, Asked: r.model}
	return c
}

// took fills in what the holder says of its call.
func (c *call) took(end LoanEnd) {
	now := c.t.cfg.Now()
	c.obs.Status, c.obs.Took, c.obs.FirstToken, c.obs.Finish = end.Status, end.Latency, end.FirstToken, end.Finish
	a := newAnswer()
	if end.Usage != nil {
		a.usage, a.hasUsage = *end.Usage, true
	}
	if a.finish = end.Finish; end.Finish != "" {
		a.finished, a.visible = 1, true
	}
	c.obs.Usage, c.obs.HasUsage = a.usage, a.hasUsage
	switch {
	case end.Status == 0:
		c.obs.Verdict = passing("connection", "no answer")
	case end.Status/100 != 2:
		v := Classify(Answer{Status: end.Status, Body: end.ErrorBody}, now)
		c.obs.Verdict = &v
	case end.Finish != "":
		c.obs.Verdict = finishVerdict(a)
	}
	if end.Status >= 400 {
		c.obs.Decision = limiter.AdmittedThenProviderRejected
	}
	c.obs.Used = c.used(a, Answer{Status: end.Status, Body: end.ErrorBody})
	c.closed = a
}

// conclude does what follows once the loan is known to have ended, in the order of
// call.end. Whoever settles again only makes sure that the limiter knows: the
// process that did it first may have died between.
func (c *call) conclude(got Loan, probe bool) {
	if got.Repeated {
		c.answerAgain(got)
		return
	}
	if v := c.obs.Verdict; v != nil && refusedThere(Record{Verdict: v.Kind, Status: c.obs.Status, Reason: v.Reason}) {
		ctx, cancel := c.unhurried()
		directTeller(c.t.cfg.Gate, c.t.cfg.Now()).direct(ctx, got.Lane, *v)
		cancel()
	}
	c.obs.Permit.Probe = probe
	c.seenGood()
	c.settle(limiter.Settled, got.Charged)
	c.learn(c.closed, Answer{Status: c.obs.Status})
	c.put(nil)
}

// answerAgain answers what was answered before.
func (c *call) answerAgain(got Loan) {
	c.again = true
	c.settle(limiter.Settled, got.Charged)
	c.obs.Used, c.obs.MicroUSD, c.obs.Priced = got.Charged, got.Charged[limiter.MicroUSD], true
	if got.Usage != nil {
		c.obs.Usage, c.obs.HasUsage = *got.Usage, true
	}
}

// seenGood closes the breaker that the call looked at, if its holder got an answer.
// The key that it was made with is another one, and nothing is known of ours.
func (c *call) seenGood() {
	if b, ok := c.t.cfg.Gate.(Breaker); ok && c.obs.Permit.Probe && c.obs.Status/100 == 2 {
		ctx, cancel := c.unhurried()
		defer cancel()
		if err := b.Probed(ctx, c.obs.Permit); err != nil {
			c.t.log.Warn("a breaker could not be closed; the next call looks again", "lane", c.obs.Lane.String(), "error", Redact(err.Error()))
		}
	}
}

// soFar raises what a loan is charged to the usage so far.
func (l *Lender) soFar(ctx context.Context, owner, id string, u Usage) (Loan, error) {
	lapsed, before := false, limiter.Amounts{}
	got, err := l.change(ctx, owner, id, func(held *loan) (loan, time.Duration, error) {
		if held.State != LoanOpen {
			return loan{}, 0, held.over(id)
		}
		to := *held
		to.Sent, to.Charged, lapsed = true, l.callOf(ctx, held).raised(u), held.Lapsed
		before = held.Charged
		return to, max(0, held.Expires.Sub(held.Now)) + loanKept, nil
	})
	if err != nil {
		return Loan{}, err
	}
	l.t.cfg.Metrics.raise(&limiter.Permit{Lane: got.Lane, Class: got.Class, Amounts: before}, got.Charged)
	s := limiter.Settlement{ID: got.Permit, Lane: got.Lane, Outcome: limiter.Settled, Used: got.Charged, Partial: true}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.t.cfg.Bounds.Settle)
	defer cancel()
	if err := l.t.cfg.Gate.Settle(ctx, s); err != nil {
		return Loan{}, l.away(ctx, err)
	}
	got.Lapsed = lapsed
	return got, nil
}

// raised is the charge with the usage so far in it, where that is more.
func (c *call) raised(u Usage) limiter.Amounts {
	c.obs.Usage, c.obs.HasUsage = u, true
	to := c.obs.Permit.Amounts
	to[limiter.InputTokens] = max(to[limiter.InputTokens], u.Input())
	to[limiter.OutputTokens] = max(to[limiter.OutputTokens], u.Output())
	to[limiter.TotalTokens] = max(to[limiter.TotalTokens], to[limiter.InputTokens]+to[limiter.OutputTokens])
	cost, _ := c.t.cfg.Prices.Cost(c.model.PricedAs(c.t.cfg.Prices, c.route.model), u, c.sentAt)
	to[limiter.MicroUSD] = max(to[limiter.MicroUSD], cost)
	return to
}

func (e LoanEnd) check() error {
	switch {
	case e.Partial && e.Usage == nil:
		return refuse(http.StatusBadRequest, "usage: a partial settlement is of the usage so far, and has none")
	case e.Status != 0 && (e.Status < 100 || e.Status > 599):
		return refuse(http.StatusBadRequest, "status %d is none of HTTP", e.Status)
	case e.Latency < 0 || e.FirstToken < 0 || e.FirstToken > e.Latency:
		return refuse(http.StatusBadRequest, "latency %s, first token after %s: want 0 ≤ first token ≤ latency", e.Latency, e.FirstToken)
	}
	return nil
}

// ParseUsage reads usageMetadata as the provider sends it; ok is false when it is
// none, counts nothing, or cannot be.
func ParseUsage(raw []byte) (u Usage, ok bool) { return parseUsage(raw) }
