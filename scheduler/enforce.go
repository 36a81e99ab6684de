package scheduler

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
)

// renewWith is how much of a lease is left at least when it is not renewed yet.
const renewWith = PauseLease * 2 / 3

// enforce makes the pauses and throttles of one automatic reason exactly these.
// What is new is set before what is old is lifted, so that nothing slips through
// between a pause and the throttle that follows it; what holds already is renewed
// when a third of its lease is over.
func (c *Control) enforce(ctx context.Context, reason string, pauses []limiter.Pause, throttles []limiter.Throttle) error {
	oldPauses, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	oldThrottles, err := c.Limiter.Throttles(ctx)
	if err != nil {
		return err
	}
	for _, p := range pauses {
		if slices.ContainsFunc(oldPauses, func(o limiter.Pause) bool { return samePause(o, p) && fresh(o.Until, p.Until) }) {
			continue
		}
		if err := c.Limiter.Pause(ctx, p); err != nil {
			return err
		}
	}
	for _, t := range throttles {
		if slices.ContainsFunc(oldThrottles, func(o limiter.Throttle) bool { return sameThrottle(o, t) && fresh(o.Until, t.Until) }) {
			continue
		}
		if err := c.Limiter.Throttle(ctx, t); err != nil {
			return err
		}
	}
	return c.liftOthers(ctx, reason, difference{oldPauses, pauses, oldThrottles, throttles})
}

// fresh tells whether a lease that ends at old need not yet end at next.
func fresh(old, next time.Time) bool { return next.Sub(old) < PauseLease-renewWith }

// samePause says that a pause need not be set again, but for its lease. What is
// said to people follows with the next renewal.
func samePause(a, b limiter.Pause) bool {
	return targetOf(a) == targetOf(b) && a.Reason == b.Reason && a.Owner == b.Owner
}

func sameThrottle(a, b limiter.Throttle) bool {
	return a.Class == b.Class && a.Reason == b.Reason && a.Owner == b.Owner &&
		a.FromPPM == b.FromPPM && a.ToPPM == b.ToPPM && a.RampFrom.Equal(b.RampFrom) && a.RampTo.Equal(b.RampTo)
}

// difference is what holds and what shall hold.
type difference struct {
	oldPauses, pauses       []limiter.Pause
	oldThrottles, throttles []limiter.Throttle
}

func (c *Control) liftOthers(ctx context.Context, reason string, d difference) error {
	for _, o := range d.oldPauses {
		kept := slices.ContainsFunc(d.pauses, func(p limiter.Pause) bool { return targetOf(p) == targetOf(o) })
		if o.Reason != reason || kept || o.Run != "" { // a run's own are RunWatch's
			continue
		}
		if err := c.Limiter.Lift(ctx, o, reason); err != nil {
			return err
		}
	}
	for _, o := range d.oldThrottles {
		kept := slices.ContainsFunc(d.throttles, func(t limiter.Throttle) bool { return t.Class == o.Class })
		if o.Reason != reason || kept {
			continue
		}
		if err := c.Limiter.Unthrottle(ctx, o.Class, reason); err != nil {
			return err
		}
	}
	return nil
}

// spread gives way to a queue's override: the limiter cannot leave one queue out
// of a class that is closed, so the pause of the classes becomes one of all the
// other queues. Calls of these classes that come from no queue pass meanwhile.
func (c *Control) spread(ctx context.Context) error {
	pauses, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(pauses, func(p limiter.Pause) bool { return p.Reason == ReasonHealth })
	if at < 0 {
		return nil
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	like := pauses[at]
	like.Until = now.Add(PauseLease)
	closed, err := c.healthPauses(ctx, like, now)
	if err != nil {
		return err
	}
	throttles, err := c.Limiter.Throttles(ctx)
	if err != nil {
		return err
	}
	return c.enforce(ctx, ReasonHealth, closed, throttlesFor(throttles, ReasonHealth))
}

func throttlesFor(ts []limiter.Throttle, reason string) []limiter.Throttle {
	return slices.DeleteFunc(slices.Clone(ts), func(t limiter.Throttle) bool { return t.Reason != reason })
}

// healthPauses are the pauses that close all pausable classes, or all queues
// that no override keeps open. Each is made like the one given.
func (c *Control) healthPauses(ctx context.Context, like limiter.Pause, now time.Time) ([]limiter.Pause, error) {
	overrides, err := c.overrides(ctx, now)
	if err != nil {
		return nil, err
	}
	var targets []Target
	if len(overrides) > 0 {
		queues, err := c.queues(ctx)
		if err != nil {
			return nil, err
		}
		targets = slices.DeleteFunc(queues, func(q Target) bool { _, open := overrides[q.Queue()]; return open })
	} else {
		for _, k := range c.Classes {
			if k.Pausable {
				targets = append(targets, Target{Class: k.Name})
			}
		}
	}
	out := make([]limiter.Pause, 0, len(targets))
	for _, t := range targets {
		p := like
		at := t.pause()
		p.Class, p.Run, p.Lane, p.Priority = at.Class, at.Run, at.Lane, at.Priority
		out = append(out, p)
	}
	return out, nil
}
