package jobs

import "time"

// LongestRamp bounds over how long a run starts.
const LongestRamp = 24 * time.Hour

const (
	// rampSteps is in how many steps a run starts, each a change of limits, and
	// rampFloor the share of the first, in ppm.
	rampSteps = 10
	rampFloor = 100_000
	wholePPM  = 1_000_000
)

// RampShare is the part in ppm that a run has of its rate while it starts, and when
// it has more; a million and zero once it has started.
func (s Steering) RampShare(now time.Time) (ppm int64, until time.Time) {
	since := now.Sub(s.RampFrom)
	if s.Ramp <= 0 || since >= s.Ramp {
		return wholePPM, time.Time{}
	}
	step := max(int64(since)*rampSteps/int64(s.Ramp), 0)
	return rampFloor + (wholePPM-rampFloor)*step/rampSteps, s.RampFrom.Add(s.Ramp * time.Duration(step+1) / rampSteps)
}

// Starts tells whether the run's rate still grows, and until when.
func (s Steering) Starts(now time.Time) (until time.Time, is bool) {
	ppm, _ := s.RampShare(now)
	return s.RampFrom.Add(s.Ramp), ppm < wholePPM
}
