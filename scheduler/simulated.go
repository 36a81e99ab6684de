package scheduler

import (
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// The decisions of this package without Redis, for simulations on a clock of their own.

// Judge is a look at samples of the time before now: how well callers are. last is when
// watched calls were seen before.
func (w Watch) Judge(classes []limiter.Class, samples []gemini.UsageSample, now time.Time, over time.Duration, last time.Time) (View, Look) {
	view := w.orDefault(classes).see(samples, now, over, last)
	look := Look{At: now}
	look.Why, look.Bad = view.bad()
	return view, look
}

// Asked is what a state asks for: pauses of all classes that can be paused, or throttles.
// Each is made like the pause given; the monitor renews them at each look.
func (r Rules) Asked(s State, classes []limiter.Class, like limiter.Pause) (pauses []limiter.Pause, throttles []limiter.Throttle) {
	like.Reason, like.Since, like.Detail = ReasonHealth, s.Since, s.Why
	closed, throttles := r.asked(s, classes, like)
	for _, k := range classes {
		if closed && k.Pausable {
			p := like
			p.Class = k.Name
			pauses = append(pauses, p)
		}
	}
	return pauses, throttles
}

// Filled is the rules with their defaults.
func (r Rules) Filled() Rules { return r.orDefault() }

// FloorsLast is how long learned floors hold without being renewed, and LearnEvery how
// often they are.
const (
	FloorsLast = floorsLast
	LearnEvery = learnEvery
)

// Week is what was learned of a lane's classes from at least a week of minutes.
type Week struct {
	classes  []limiter.Class
	profiles map[string]*profile
}

// LearnWeek learns from what was counted by the minute, up to an hour's end. zone is that
// of the hours of the week. Classes of which no whole week is known are not in it.
func LearnWeek(zone *time.Location, lane limiter.Lane, classes []limiter.Class, minutes []gemini.UsageSample, until time.Time) Week {
	byHour := map[int64][]gemini.UsageSample{}
	for _, s := range minutes {
		h := hourIndex(s.At)
		byHour[h] = append(byHour[h], s)
	}
	uses := map[useKey]map[int64]hourUse{}
	for h, samples := range byHour {
		for k, use := range hourFromMinutes(samples) {
			if uses[k] == nil {
				uses[k] = map[int64]hourUse{}
			}
			uses[k][h] = use
		}
	}
	w := Week{classes: classes, profiles: map[string]*profile{}}
	for _, c := range classes {
		if p := newProfile(zone, hourIndex(until)-1, uses[keyOf(lane, c.Name)]); c.GuaranteePPM > 0 && p.known() {
			w.profiles[c.Name] = p
		}
	}
	return w
}

// Floors are what is kept free for the classes at a moment, as the Learner sets it.
func (w Week) Floors(limits []limiter.LimitState, now time.Time) []limiter.Floor {
	return floorsFor(limits, w.classes, w.profiles, now)
}
