package scheduler

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
)

// enforce makes the pauses and throttles of one automatic reason exactly these.
// What is new is set before what is old is lifted, so that nothing slips through
// between a pause and the throttle that follows it.
func (c *Control) enforce(ctx context.Context, reason string, pauses []limiter.Pause, throttles []limiter.Throttle) error {
	for _, p := range pauses {
		if err := c.Limiter.Pause(ctx, p); err != nil {
			return err
		}
	}
	for _, t := range throttles {
		if err := c.Limiter.Throttle(ctx, t); err != nil {
			return err
		}
	}
	if err := c.liftOthers(ctx, reason, pauses); err != nil {
		return err
	}
	return c.unthrottleOthers(ctx, reason, throttles)
}

func (c *Control) liftOthers(ctx context.Context, reason string, keep []limiter.Pause) error {
	now, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	for _, p := range now {
		kept := slices.ContainsFunc(keep, func(k limiter.Pause) bool { return targetOf(k) == targetOf(p) })
		if p.Reason != reason || kept {
			continue
		}
		if err := c.Limiter.Lift(ctx, p, reason); err != nil {
			return err
		}
	}
	return nil
}

func (c *Control) unthrottleOthers(ctx context.Context, reason string, keep []limiter.Throttle) error {
	now, err := c.Limiter.Throttles(ctx)
	if err != nil {
		return err
	}
	for _, t := range now {
		kept := slices.ContainsFunc(keep, func(k limiter.Throttle) bool { return k.Class == t.Class })
		if t.Reason != reason || kept {
			continue
		}
		if err := c.Limiter.Unthrottle(ctx, t.Class, reason); err != nil {
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
