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
		out = append(out, w)
	}
	if s.Steer.Window == "" {
		return out
	}
	if w, err := scheduler.ParseWindow("window", s.Steer.Window, l.zoneOf(s.Steer)); err == nil {
		out = append(out, w)
	}
	return out
}

// zoneOf is that of a run's clocks: its own, or the configuration's.
func (l *loaded) zoneOf(s jobs.Steering) *time.Location {
	if zone, err := time.LoadLocation(s.Zone); err == nil && s.Zone != "" {
		return zone
	}
	return l.zone()
}
