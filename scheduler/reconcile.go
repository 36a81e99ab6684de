package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nightshift/limiter"
)

// bulkClass is the class that a queue without unfinished runs counts for.
const bulkClass = "bulk"

// Reconciled is what Reconcile found and did.
type Reconciled struct {
	Pauses  []limiter.Pause            // all that hold, those made in asynqmon included
	Holding map[string][]limiter.Pause // by queue: what closes it
	Closed  []string                   // queues that were open
	Opened  []string                   // queues that were closed
}

// Reconcile brings asynq's pause keys into line with the pauses of the limiter,
// and the limiter into line with what people did by asynq's own means: their
// pause of a queue is mirrored, so that what waits behind it is passed over;
// their resume of a queue that we had closed is respected as far as its reason
// allows. The leader calls it every few seconds, and every pause and resume does.
func (c *Control) Reconcile(ctx context.Context) (Reconciled, error) {
	r := Reconciled{Holding: map[string][]limiter.Pause{}}
	now, err := c.now(ctx)
	if err != nil {
		return r, err
	}
	if r.Pauses, err = c.Limiter.Pauses(ctx); err != nil {
		return r, err
	}
	queues, err := c.queues(ctx)
	if err != nil {
		return r, err
	}
	users, err := c.users(ctx, r.Pauses)
	if err != nil {
		return r, err
	}
	overrides, err := c.overrides(ctx, now)
	if err != nil {
		return r, err
	}
	for _, q := range queues {
		reasons := closing(q, r.Pauses, users[q.Queue()])
		if _, open := overrides[q.Queue()]; open {
			reasons = without(reasons, ReasonHealth)
		}
		if err := c.reconcileQueue(ctx, q, reasons, now, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// users gives, by queue, the classes of the runs that are not finished. It is
// only asked for while a class is paused.
func (c *Control) users(ctx context.Context, pauses []limiter.Pause) (map[string][]string, error) {
	if !slices.ContainsFunc(pauses, func(p limiter.Pause) bool { return p.Class != "" }) {
		return nil, nil
	}
	users := map[string][]string{}
	err := c.eachOpen(ctx, func(o openRun) {
		users[o.queue] = append(users[o.queue], o.Spec.Class)
	})
	return users, err
}

// closing gives the pauses that close a queue: its own, and those of the classes
// that use it when all of these are paused.
func closing(q Target, pauses []limiter.Pause, users []string) []limiter.Pause {
	if len(users) == 0 {
		users = []string{bulkClass}
	}
	var own, byClass []limiter.Pause
	closed := map[string]bool{}
	for _, p := range pauses {
		switch {
		case isMirror(p):
		case p.Class != "" && slices.Contains(users, p.Class):
			closed[p.Class], byClass = true, append(byClass, p)
		case p.Lane == q.Lane && p.Lane != "" && (p.Priority == "" || string(p.Priority) == string(q.Priority)):
			own = append(own, p)
		}
	}
	if slices.ContainsFunc(users, func(class string) bool { return !closed[class] }) {
		return own
	}
	return append(own, byClass...)
}

func without(ps []limiter.Pause, reason string) []limiter.Pause {
	return slices.DeleteFunc(ps, func(p limiter.Pause) bool { return p.Reason == reason })
}

func (c *Control) reconcileQueue(ctx context.Context, q Target, reasons []limiter.Pause, now time.Time, r *Reconciled) error {
	what, found, err := c.setQueue(ctx, q.Queue(), queuePause(reasons, now), now, false)
	if err != nil {
		return err
	}
	if what == queueTaken {
		if reasons, err = c.takenOpen(ctx, q, reasons, now, r); err != nil {
			return err
		}
		if what, found, err = c.setQueue(ctx, q.Queue(), queuePause(reasons, now), now, true); err != nil {
			return err
		}
	}
	switch what {
	case queueClosed:
		r.Closed = append(r.Closed, q.Queue())
	case queueOpened:
		r.Opened = append(r.Opened, q.Queue())
	}
	if err := c.mirror(ctx, q, what == queueTheirs, found, now, r); err != nil {
		return err
	}
	if len(reasons) > 0 {
		r.Holding[q.Queue()] = append(r.Holding[q.Queue()], reasons...)
	}
	return nil
}

// queuePause is the value for asynq's key; nil when nothing closes the queue. It
// holds as long as the longest of its reasons.
func queuePause(reasons []limiter.Pause, now time.Time) *QueuePause {
	if len(reasons) == 0 {
		return nil
	}
	p := &QueuePause{By: queuePauseBy, Since: reasons[0].Since, Until: now}
	endless := false
	for _, r := range reasons {
		p.Reasons = append(p.Reasons, reasonText(r))
		if r.Since.Before(p.Since) {
			p.Since = r.Since
		}
		if r.Until.After(p.Until) {
			p.Until = r.Until
		}
		endless = endless || r.Until.IsZero()
	}
	if endless {
		p.Until = time.Time{}
	}
	return p
}

// reasonText is "operator alice: nightly freeze".
func reasonText(p limiter.Pause) string {
	s := p.Reason
	if p.Owner != "" {
		s += " " + p.Owner
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}

// takenOpen deals with a queue that a person opened by asynq's own means while
// reasons to close it held. Their pause of exactly this queue is lifted, the
// monitor is overruled there; everything else closes it again. It returns what
// is left of the reasons.
func (c *Control) takenOpen(ctx context.Context, q Target, reasons []limiter.Pause, now time.Time, r *Reconciled) ([]limiter.Pause, error) {
	text := q.Describe() + " was resumed in asynqmon"
	own := func(p limiter.Pause) bool { return p.Reason == ReasonOperator && targetOf(p) == q }
	if at := slices.IndexFunc(reasons, own); at >= 0 {
		if err := c.Limiter.Lift(ctx, reasons[at], ReasonOperator); err != nil {
			return reasons, err
		}
		r.Pauses = slices.DeleteFunc(r.Pauses, own)
		reasons = slices.DeleteFunc(reasons, own)
	}
	if slices.ContainsFunc(reasons, func(p limiter.Pause) bool { return p.Reason == ReasonHealth }) {
		if err := errors.Join(c.overrideQueue(ctx, q.Queue(), now.Add(QueueOverride)), c.spread(ctx)); err != nil {
			return reasons, err
		}
		reasons = without(reasons, ReasonHealth)
		text += fmt.Sprintf(" over a health pause, which leaves it open for %s", QueueOverride)
	}
	if len(reasons) > 0 {
		text += ", and is closed again: " + reasonText(reasons[0])
	}
	c.note(ctx, limiter.EventResume, q, ownerAsynqmon, text)
	return reasons, nil
}
