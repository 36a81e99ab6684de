package gemini

import (
	"context"
	"time"

	"nightshift/limiter"
)

// Ledger is what we know ourselves when an answer is judged. The zero value but for
// Now knows nothing.
type Ledger struct {
	Now    time.Time
	Day    time.Time // when the day's limit that we have used up begins anew; zero: none is
	Budget time.Time // the same of a limit of money
	Limit  string    // which one that is: "rpd", "lane usd_per_month"
}

// laneStates tells what is in use. *limiter.Redis does.
type laneStates interface {
	State(context.Context, limiter.Lane) (limiter.LaneState, error)
}

// Correct makes of a refusal for a quota that is not named what our own ledger knows.
func (l Ledger) Correct(v Verdict) Verdict {
	if !v.vague() || l.Day.IsZero() && l.Budget.IsZero() {
		return v
	}
	note := "our own ledger says that " + l.Limit + " is used up"
	v.Kind, v.Reason, v.RetryAt = DailyReset, "rpd", l.Day
	if !l.Budget.IsZero() {
		v.Kind, v.Reason, v.RetryAt = BudgetStop, "own_budget", l.Budget
	}
	v.RetryAfter, v.Evidence = v.RetryAt.Sub(l.Now), append([]string{note}, v.Evidence...)
	return v
}

// vague says that a refusal may be for any quota: none is named in its structure.
func (v Verdict) vague() bool {
	if v.Scope != ScopeModel || v.Bucket != "" || v.Limit > 0 {
		return false
	}
	return v.Reason == reasonHinted || v.Reason == reasonUnexplained || v.Reason == reasonCapacity
}

// until is how long the verdict says to wait; what it does not say is otherwise.
func (l Ledger) until(v Verdict, otherwise time.Duration) time.Duration {
	d := v.RetryAfter
	if !v.RetryAt.IsZero() {
		d = max(d, v.RetryAt.Sub(l.Now))
	}
	if d <= 0 {
		d = otherwise
	}
	return d
}

// ledger asks the shared state, only where the verdict may change by it.
func (c *call) ledger(v Verdict) Ledger {
	l := Ledger{Now: c.t.cfg.Now()}
	states, ok := c.t.cfg.Gate.(laneStates)
	if !ok || !v.vague() {
		return l
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	s, err := states.State(ctx, c.obs.Lane)
	if err != nil {
		return l // the answer alone decides
	}
	return usedUp(l, s)
}

// usedUp finds a day's limit, or one of money, that is used up but for what is left
// outside. Of several the one that begins anew last counts.
func usedUp(l Ledger, s limiter.LaneState) Ledger {
	for _, x := range s.Limits {
		money := x.Unit == limiter.MicroUSD
		if x.Shadow || x.Used < x.Effective || !money && x.Window != limiter.Day || x.Window == limiter.Held {
			continue
		}
		at := &l.Day
		if money {
			at = &l.Budget
		}
		if x.NextFree.After(*at) {
			*at, l.Limit = x.NextFree, x.Name
		}
	}
	return l
}
