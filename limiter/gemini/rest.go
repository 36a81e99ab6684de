package gemini

import (
	"context"
	"fmt"
	"time"

	"nightshift/limiter"
)

// Breaker is told of calls that show that others are hopeless, and of looks that show
// that they are not any more. *limiter.Redis is one.
type Breaker interface {
	Trip(context.Context, limiter.Trip) (limiter.BreakerState, error)
	Probed(context.Context, *limiter.Permit) error
}

// softRest is how long a lane rests in this process when the shared state, which has
// the breaker, is away.
const softRest = 5 * time.Minute

// follow does what follows from the verdict for the lane and the project.
func (c *call) follow() {
	v := c.obs.Verdict
	if v == nil || c.obs.Lane.Model == "" {
		c.looked(v == nil)
		return
	}
	ledger := c.ledger(*v)
	*v = ledger.Correct(*v)
	next := ConsequenceOf(*v, ledger)
	if c.obs.Soft {
		c.restSoftly(next)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	if t := c.t.teller(); c.trips(ctx, t, &next) {
		c.t.alertAlone(ctx, *v)
		v.Scope = ScopeWorker // this machine's way is closed, and no other
		next = ConsequenceOf(*v, ledger)
	} else if next.Lane.Breaker == "" {
		t.rest(ctx, c.obs.Lane, next, *v)
	}
	c.obs.Consequence = &next
	c.looked(next.Lane.Breaker == "" && (c.obs.Status/100 == 2 || v.Kind == Wait))
}

// trips tells the breakers; alone says that nothing but this process's own key is
// wrong.
func (c *call) trips(ctx context.Context, t teller, next *Consequence) (alone bool) {
	if next.Lane.Breaker == "" {
		return false
	}
	x := limiter.Trip{By: c.t.cfg.Process}
	if c.obs.Permit != nil {
		x.Permit = c.obs.Permit.ID
	}
	if next.Lane.Breaker == limiter.ReasonCredentials {
		x.Key = c.keyHash()
	}
	return t.trip(ctx, c.obs.Lane, *next, *c.obs.Verdict, x).Alone
}

// looked closes the breaker that this call looked at, when its answer is one that no
// breaker would be for. Any other end lets somebody else look.
func (c *call) looked(good bool) {
	if good && !c.sentAt.IsZero() {
		c.t.keys.worked(c.sentAt)
	}
	b, ok := c.t.cfg.Gate.(Breaker)
	p := c.obs.Permit
	if !good || !ok || p == nil || !p.Probe {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	if err := b.Probed(ctx, p); err != nil {
		c.t.log.Warn("a breaker could not be closed; the next call looks again", "lane", p.Lane.String(), "error", Redact(err.Error()))
	}
}

func (c *call) restSoftly(next Consequence) {
	d := next.Lane.Rest
	if next.Lane.Breaker != "" {
		d = softRest
	}
	if d > 0 {
		c.t.soft.rest(c.obs.Lane, time.Now().Add(min(d, restMost)))
	}
}

// teller tells the shared state what follows for lanes. Parts that are nil are not
// told.
type teller struct {
	cooler  Cooler
	breaker Breaker
	now     time.Time
	failed  func(lane limiter.Lane, err error)
}

func (t *Transport) teller() teller {
	b, _ := t.cfg.Gate.(Breaker)
	return teller{cooler: t.cooler, breaker: b, now: t.cfg.Now(), failed: func(lane limiter.Lane, err error) {
		t.log.Warn("the lane could not be told to rest", "lane", lane.String(), "error", Redact(err.Error()))
	}}
}

// directTeller is one for calls that were made elsewhere. What cannot be told is not
// tried again.
func directTeller(gate Gate, now time.Time) teller {
	t := teller{now: now, failed: func(limiter.Lane, error) {}}
	t.cooler, _ = gate.(Cooler)
	t.breaker, _ = gate.(Breaker)
	return t
}

// rest lets a lane rest for a moment.
func (t teller) rest(ctx context.Context, lane limiter.Lane, next Consequence, v Verdict) {
	if next.Lane.Rest <= 0 || t.cooler == nil {
		return
	}
	if err := t.cooler.Cool(ctx, lane, next.Lane.Rest, limiter.ReasonCooldown, "provider: "+v.Reason); err != nil {
		t.failed(lane, err)
	}
}

// trip opens a breaker; x has what only the caller knows.
func (t teller) trip(ctx context.Context, lane limiter.Lane, next Consequence, v Verdict, x limiter.Trip) limiter.BreakerState {
	if t.breaker == nil {
		return limiter.BreakerState{}
	}
	x.Lane, x.Scope, x.Reason, x.Certain = lane, limiter.BreakLane, next.Lane.Breaker, next.Lane.Certain
	if next.Project.Breaker {
		x.Scope = limiter.BreakProject
	}
	x.Until, x.Longest, x.Lift, x.Detail = next.Until, next.Lane.Longest, next.Lift, inWords(v)
	if v.Kind == Unknown && v.RetryAfter > 0 {
		x.NotBefore = t.now.Add(v.RetryAfter)
	}
	s, err := t.breaker.Trip(ctx, x)
	if err != nil {
		t.failed(lane, fmt.Errorf("breaker: %w", err))
	}
	return s
}

// direct tells what a call that was made elsewhere shows. Its key was another one's,
// and a bare status lets nobody else wait: only a limit that is named counts.
func (t teller) direct(ctx context.Context, lane limiter.Lane, v Verdict) {
	if v.Kind == Unknown || v.Credential {
		return
	}
	next := ConsequenceOf(v, Ledger{Now: t.now})
	if next.Lane.Breaker == "" {
		t.rest(ctx, lane, next, v)
		return
	}
	t.trip(ctx, lane, next, v, limiter.Trip{By: "a call made past the gate"})
}
