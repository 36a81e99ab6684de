package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nightshift/limiter"
)

// Pause closes a target. Pauses for health and by work windows are the leader's
// own: they cannot be asked for. The error is a *NoTargetError, *NotPausableError or
// *PastError, or a *ConfigError for the reason, where the request itself is wrong; then nothing has changed.
func (c *Control) Pause(ctx context.Context, q PauseRequest) (Effect, error) {
	q.Reason = cmp.Or(q.Reason, ReasonOperator)
	if !slices.Contains([]string{ReasonOperator, ReasonStop, ReasonBudget, ReasonDaily, ReasonCredentials}, q.Reason) {
		return Effect{}, &ConfigError{"reason", fmt.Sprintf("%q is not one to pause for; want operator, stop, budget, daily or credentials (what people should read is the detail)", q.Reason)}
	}
	if err := c.check(ctx, q.Target); err != nil {
		return Effect{}, err
	}
	now, err := c.now(ctx)
	if err != nil {
		return Effect{}, err
	}
	if !q.Until.IsZero() && !q.Until.After(now) {
		return Effect{}, &PastError{Target: q.Target.String(), Until: q.Until, Now: now}
	}
	p := q.Target.pause()
	p.Reason, p.Owner, p.Until, p.Detail = q.Reason, q.Owner, q.Until, q.Detail
	// the limiter first: from here on nothing starts
	if err := c.Limiter.Pause(ctx, p); err != nil {
		return Effect{}, err
	}
	e, err := c.effect(ctx, q.Target, p.Reason)
	c.note(ctx, limiter.EventPause, q.Target, q.Owner, pauseText(c.Describe(ctx, q.Target), p))
	return e, err
}

func pauseText(what string, p limiter.Pause) string {
	s := what + " is paused for reason " + p.Reason
	if !p.Until.IsZero() {
		s += " until " + limiter.Instant(p.Until)
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return s
}

// Resume lifts what a person paused. Over a health pause the error is a
// *HeldError unless q.Override says for how long the monitor is to be overruled;
// over any other reason that is not a person's it is one in any case. When a
// person's pause was lifted there is no error, and Effect.Still says what holds
// on. Resuming what is not paused is no error: Effect.Lifted is 0. Where a breaker is
// open the next call looks whether it still holds, whatever is resumed.
func (c *Control) Resume(ctx context.Context, t Target, q ResumeRequest) (Effect, error) {
	if err := c.check(ctx, t); err != nil {
		return Effect{}, err
	}
	if q.Override < 0 {
		return Effect{}, &ConfigError{"override", "must not be negative"}
	}
	now, err := c.now(ctx)
	if err != nil {
		return Effect{}, err
	}
	lifted, err := c.liftOperator(ctx, t)
	if err != nil {
		return Effect{}, err
	}
	looks, err := c.Limiter.LookAgain(ctx)
	if err != nil {
		return Effect{}, err
	}
	if q.Override > 0 && lifted == 0 {
		if err := c.overridable(ctx, t); err != nil {
			return Effect{}, err
		}
	}
	var until time.Time
	if q.Override > 0 {
		until = now.Add(q.Override)
		n, err := c.override(ctx, t, Hold{Until: until, By: q.By, Open: true})
		if err != nil {
			return Effect{}, err
		}
		lifted += n
	}
	e, err := c.effect(ctx, t, "")
	e.Lifted, e.Until, e.Looks = lifted, until, looks
	if err == nil && lifted == 0 {
		err = stillHeld(t, e.Still)
	}
	if lifted > 0 || !until.IsZero() {
		c.note(ctx, limiter.EventResume, t, q.By, resumeText(c.Describe(ctx, t), until))
	}
	return e, err
}

// LiftStop takes away what an emergency stop paused of a target. Whatever else holds it
// goes on holding it: Effect.Still says what.
func (c *Control) LiftStop(ctx context.Context, t Target, by string) (Effect, error) {
	if err := c.Limiter.Lift(ctx, t.pause(), ReasonStop); err != nil {
		return Effect{}, err
	}
	e, err := c.effect(ctx, t, "")
	c.note(ctx, limiter.EventResume, t, by, "the emergency stop of "+c.Describe(ctx, t)+" is lifted")
	return e, err
}

func resumeText(what string, until time.Time) string {
	if until.IsZero() {
		return what + " is resumed"
	}
	return fmt.Sprintf("%s is resumed, the monitor is overruled until %s", what, limiter.Instant(until))
}

// Describe is Target.Describe with a run's name, where it has one.
func (c *Control) Describe(ctx context.Context, t Target) string {
	if t.Run != "" && c.Store != nil {
		if run, err := c.Store.Load(ctx, t.Run); err == nil {
			return "run " + run.Title()
		}
	}
	return t.Describe()
}

// overridable finds out whether an override would be in vain: the target is
// closed, and not by the monitor. Nothing is changed then.
func (c *Control) overridable(ctx context.Context, t Target) error {
	e, err := c.effect(ctx, t, "")
	if err != nil {
		return err
	}
	for _, p := range e.Still {
		if p.Reason == ReasonHealth {
			return nil
		}
	}
	return stillHeld(t, e.Still)
}

// stillHeld gives the error for the first reason that still holds; nil for none.
func stillHeld(t Target, still []limiter.Pause) error {
	if len(still) == 0 {
		return nil
	}
	p := still[0]
	e := &HeldError{Target: t.String(), Reason: p.Reason, Owner: p.Owner, Detail: p.Detail, Since: p.Since, Run: p.Run != ""}
	if by := targetOf(p); by != t {
		e.Through = by.String()
	}
	return e
}

// liftOperator lifts what only people lift of exactly this target: what they did
// by our means and by asynq's, and a run's brake, which counts anew from then on.
func (c *Control) liftOperator(ctx context.Context, t Target) (n int, err error) {
	if t.Run != "" && c.Store != nil {
		if err := c.Store.ReleaseBrake(ctx, t.Run); err != nil {
			return 0, err
		}
	}
	pauses, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range pauses {
		if (p.Reason == ReasonOperator || p.Reason == ReasonBrake) && targetOf(p) == t {
			if err := c.Limiter.Lift(ctx, p, p.Reason); err != nil {
				return n, err
			}
			n++
		}
	}
	if queue := t.Queue(); queue != "" {
		opened, err := c.openTheirs(ctx, queue)
		if err != nil {
			return n, err
		}
		if opened && n == 0 {
			n++
		}
	}
	return n, nil
}

// override lifts what the monitor did and keeps it from doing it again; of a
// queue it lifts that of the queue alone. It returns how many of the monitor's
// pauses there were.
func (c *Control) override(ctx context.Context, t Target, h Hold) (n int, err error) {
	pauses, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range pauses {
		if p.Reason == ReasonHealth {
			n++
		}
	}
	if queue := t.Queue(); queue != "" {
		if err := c.overrideQueue(ctx, queue, h.Until); err != nil || n == 0 {
			return n, err
		}
		return n, c.spread(ctx)
	}
	if err := c.writeHold(ctx, h); err != nil {
		return 0, err
	}
	return n, c.enforce(ctx, ReasonHealth, nil, nil)
}

// effect brings the queues into line and says what came of it. except is the
// reason that was just set; "" for none.
func (c *Control) effect(ctx context.Context, t Target, except string) (Effect, error) {
	e := Effect{Target: t}
	r, err := c.Reconcile(ctx)
	if err != nil {
		return e, err
	}
	e.Closed, e.Opened = r.Closed, r.Opened
	held, err := c.heldBy(ctx, t, r)
	if err != nil {
		return e, err
	}
	for _, p := range held {
		if targetOf(p) != t || p.Reason != except {
			e.Still = append(e.Still, p)
		}
	}
	if e.InFlight, err = c.inFlight(ctx, t); e.InFlight > 0 {
		e.EndsWithin = Millis(c.callTimeout())
	}
	return e, err
}

// now is Redis's clock, or what stands for it in tests.
func (c *Control) now(ctx context.Context) (time.Time, error) {
	if c.Now != nil {
		return c.Now(), nil
	}
	now, err := c.Redis.Time(ctx).Result()
	if err != nil {
		return now, fmt.Errorf("asking Redis for the time: %w", err)
	}
	return now, nil
}

// note keeps an event. What happened has happened: a lost note is only logged.
func (c *Control) note(ctx context.Context, kind string, t Target, by, text string) {
	c.noteSubject(ctx, kind, t.String(), by, text)
}

func (c *Control) noteSubject(ctx context.Context, kind, subject, by, text string) {
	c.noteEvent(ctx, limiter.Event{Kind: kind, Subject: subject, Text: text, By: by})
}

// DataCommand is the field of limiter.Event.Data that has what helps against an alert.
const DataCommand = "command"

func (c *Control) noteEvent(ctx context.Context, e limiter.Event) {
	c.log().Info(e.Text, "event", e.Kind, "subject", e.Subject, "by", e.By)
	if err := c.Limiter.Note(context.WithoutCancel(ctx), e); err != nil {
		c.log().Warn("an event was not kept", "event", e.Kind, "err", err)
	}
}

// laneStates gives what all lanes look like now.
func (c *Control) laneStates(ctx context.Context) ([]limiter.LaneState, error) {
	conf, err := c.Limiter.Lanes(ctx)
	if err != nil {
		return nil, err
	}
	lanes := make([]limiter.Lane, len(conf))
	for i, l := range conf {
		lanes[i] = l.Lane
	}
	return c.Limiter.States(ctx, lanes)
}
