package cli

import (
	"time"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// gatesOf are the timetables that a run's rows go by: its class's and its own. What
// cannot be read was refused where it was set.
func (l *loaded) gatesOf(s jobs.Spec) (out []gate) {
	if w, ok := l.workWindows()[s.Class]; ok {
		out = append(out, &remembered{of: w})
	}
	if s.Steer.Window == "" {
		return out
	}
	if w, err := scheduler.ParseTimetable("window", s.Steer.Window, l.zoneOf(s.Steer)); err == nil {
		out = append(out, &remembered{of: w})
	}
	return out
}

// windowsOf tells timetables from how a run's rate grows while it starts.
func windowsOf(all []gate) (windows, rising []gate) {
	for _, g := range all {
		if _, is := g.(starting); is {
			rising = append(rising, g)
		} else {
			windows = append(windows, g)
		}
	}
	return windows, rising
}

// starting is how a run's rate grows while it starts.
type starting struct{ jobs.Steering }

func (s starting) RateAt(t time.Time) (scheduler.Rate, time.Time) {
	share, until := s.RampShare(t)
	return scheduler.Rate{PPM: share}, until
}

// zoneOf is that of a run's clocks: its own, or the configuration's.
func (l *loaded) zoneOf(s jobs.Steering) *time.Location {
	if zone, err := time.LoadLocation(s.Zone); err == nil && s.Zone != "" {
		return zone
	}
	return l.zone()
}

// remembered is a timetable that looks for its next change but once: a forecast asks
// for the same stretches again and again. For one goroutine.
type remembered struct {
	of     gate
	spells []spell
}

// spell is a stretch without a change; to is zero for one without an end.
type spell struct {
	from, to time.Time
	rate     scheduler.Rate
}

func (g *remembered) RateAt(t time.Time) (scheduler.Rate, time.Time) {
	for _, s := range g.spells {
		if !t.Before(s.from) && (s.to.IsZero() || t.Before(s.to)) {
			return s.rate, s.to
		}
	}
	rate, until := g.of.RateAt(t)
	g.spells = append(g.spells, spell{t, until, rate})
	return rate, until
}
