package scheduler

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
)

// isMirror tells whether a pause only repeats what was done by asynq's own means.
func isMirror(p limiter.Pause) bool { return p.Reason == ReasonOperator && p.Owner == ownerAsynqmon }

// mirror repeats in the limiter that a queue is closed by asynq's own means, under
// a lease, and lifts what it repeated when that is over. A pause that a person
// set by our means stands instead of it.
func (c *Control) mirror(ctx context.Context, q Target, theirs bool, value string, now time.Time, r *Reconciled) error {
	at := slices.IndexFunc(r.Pauses, func(p limiter.Pause) bool { return p.Reason == ReasonOperator && targetOf(p) == q })
	switch {
	case theirs && (at < 0 || isMirror(r.Pauses[at])):
		return c.setMirror(ctx, q, at, value, now, r)
	case !theirs && at >= 0 && isMirror(r.Pauses[at]):
		if err := c.Limiter.Lift(ctx, r.Pauses[at], ReasonOperator); err != nil {
			return err
		}
		r.Pauses = slices.Delete(r.Pauses, at, at+1)
		c.note(ctx, limiter.EventResume, q, ownerAsynqmon, q.Describe()+" was resumed in asynqmon")
	}
	return nil
}

func (c *Control) setMirror(ctx context.Context, q Target, at int, value string, now time.Time, r *Reconciled) error {
	p := q.pause()
	p.Reason, p.Owner, p.Since, p.Until = ReasonOperator, ownerAsynqmon, pausedSince(value), now.Add(PauseLease)
	if err := c.Limiter.Pause(ctx, p); err != nil {
		return err
	}
	r.Holding[q.Queue()] = append(r.Holding[q.Queue()], p)
	if at < 0 {
		r.Pauses = append(r.Pauses, p)
		c.note(ctx, limiter.EventPause, q, ownerAsynqmon, q.Describe()+" was paused in asynqmon")
	}
	return nil
}
