package scheduler

import (
	"fmt"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// RampLook is what a look saw of a ramp's calls.
type RampLook struct {
	At      time.Time // Redis's clock
	View    gemini.RampView
	Calls   int64     // moved, since the last look counted
	Counted time.Time // until when they were
}

// Decide gives an active ramp after a look. Its share changes by at most a step. It
// has no effect of its own, and is not told how long nobody looked: time in which
// nobody did is none that went well.
func (w RampRules) Decide(r gemini.Ramp, l RampLook) (gemini.Ramp, []Action) {
	w = w.orDefault()
	limits := RampLimitsOver(r.Limits, w.Limits)
	step := min(max(l.At.Sub(r.Looked), 0), 3*w.Every)
	if r.Looked.IsZero() {
		step = 0
	}
	r.Looked, r.Seen, r.Moved, r.Counted = l.At, l.View, r.Moved+l.Calls, l.Counted
	v := judgeRamp(limits, l.View)
	if v.why != "" {
		r.Bad, r.Good = r.Bad+1, 0
	} else {
		r.Bad, r.Good = 0, r.Good+1
	}
	if r.Phase == gemini.RampHeld {
		return r, nil
	}
	if v.why != "" {
		r.Why = v.why
	}
	if r.Phase == gemini.RampBad {
		return w.standing(r, v)
	}
	return w.moving(r, v, step, limits)
}

// enterRamp begins a phase. Looks count anew in each.
func enterRamp(r gemini.Ramp, p gemini.RampPhase, at time.Time) gemini.Ramp {
	r.Phase, r.Since, r.Bad, r.Good, r.Told = p, at, 0, 0, false
	if p == gemini.RampMoving {
		r.Why = ""
	}
	return r
}

// toStep puts another share in force.
func toStep(r gemini.Ramp, step int, at time.Time) gemini.Ramp {
	r.Before = r.SharePPM()
	r.Step, r.Changed, r.Ramped, r.Moved, r.Told = step, at, 0, 0, false
	r.Bad, r.Good = 0, 0
	r.Counted = at
	return r
}

// moving goes on at good looks and stands still at bad ones. A step ends when it
// had its time, and calls enough to be judged by.
func (w RampRules) moving(r gemini.Ramp, v rampVerdict, step time.Duration, limits gemini.RampLimits) (gemini.Ramp, []Action) {
	switch {
	case r.Bad >= w.Bad:
		next := enterRamp(r, gemini.RampBad, r.Looked)
		return next, []Action{{gemini.EventRamp, fmt.Sprintf("%s stands still at %s: %s", about(r), limiter.Share(r.SharePPM()), v.why)}}
	case v.why != "":
		return r, nil
	}
	r.Ramped = min(r.Ramped+step, r.StepTime())
	if r.Ramped < r.StepTime() || r.Moved < limits.Samples {
		return r, nil
	}
	if !r.Last() {
		next := toStep(r, r.Step+1, r.Looked)
		return next, []Action{{gemini.EventRamp, fmt.Sprintf("%s goes from %s to %s", about(r), limiter.Share(r.SharePPM()), limiter.Share(next.SharePPM()))}}
	}
	if r.Told {
		return r, nil
	}
	r.Told = true
	return r, []Action{{gemini.EventRamp, fmt.Sprintf("%s: all calls are moved and fare well; `nightshift ramp finish %s` makes it last", about(r), r.Scope)}}
}

// standing waits for good looks, and goes back a step when bad ones go on and the
// calls that stay fare better.
func (w RampRules) standing(r gemini.Ramp, v rampVerdict) (gemini.Ramp, []Action) {
	switch {
	case r.Good >= w.Good:
		next := enterRamp(r, gemini.RampMoving, r.Looked)
		return next, []Action{{gemini.EventRamp, fmt.Sprintf("%s goes on at %s: the moved calls are well", about(r), limiter.Share(r.SharePPM()))}}
	case r.Bad < w.Back || !v.worse:
		return r, nil
	case r.Step > 0:
		next := toStep(r, r.Step-1, r.Looked)
		text := fmt.Sprintf("%s goes back from %s to %s: %s", about(r), limiter.Share(r.SharePPM()), limiter.Share(next.SharePPM()), v.why)
		return next, []Action{{gemini.EventRamp, text}, {limiter.EventAlert, fmt.Sprintf("%s. Only `nightshift ramp rollback %s` takes it back altogether", text, r.Scope)}}
	case r.Told:
		return r, nil
	}
	r.Told = true
	return r, []Action{{limiter.EventAlert, fmt.Sprintf("%s is bad at its first step, %s: %s. `nightshift ramp rollback %s` takes it back",
		about(r), limiter.Share(r.SharePPM()), v.why, r.Scope)}}
}

func about(r gemini.Ramp) string { return fmt.Sprintf("ramp %s (%s to %s)", r.Scope, r.From, r.To) }
