package cli

import (
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// flexLeast is the least that an answer by the flex tier is documented to take; the most
// is the worker's flex_timeout.
const flexLeast = time.Minute

// byFlex is in a forecast's limit that flex takes the time, not a limit.
const byFlex = "flex"

// flexPace is how flex answers rows: so many at once, each within flexLeast to longest.
type flexPace struct {
	slots   int
	longest time.Duration
}

// flexOf is how flex will answer a run's rows; nil for one that other tiers serve, or will
// in time for its deadline. fleet is the workers that there are.
func (l *loaded) flexOf(s jobs.Spec, fleet []worker.WorkerInfo, now time.Time) *flexPace {
	if l.usedTier(s, now) != gemini.TierFlex || s.Steer.ServiceTier == jobs.TierAuto && !s.Steer.Deadline.IsZero() {
		return nil
	}
	_, slots := worker.Serving(fleet, s.Lane)
	if slots <= 0 { // one worker, once it is there
		slots = max(l.Worker.Concurrency, 1)
	}
	return &flexPace{slots, max(l.Worker.FlexTimeout, flexLeast)}
}

// takes is how long so many rows take if each answer takes as long as that.
func (f flexPace) takes(rows int64, each time.Duration) time.Duration {
	return time.Duration((rows+int64(f.slots)-1)/int64(f.slots)) * each
}

// flexEnds moves the end to when flex has answered all rows at its quickest, and notes the
// end at its slowest.
func (r *planReport) flexEnds(p prospect) {
	if p.flex == nil {
		return
	}
	limits, rows := r.Done, p.runs[0].rows
	ends := func(each time.Duration) time.Time {
		return later(r.begins.Add(p.flex.takes(rows, each)), limits.Add(each))
	}
	r.Slots, r.FlexMost, r.Latest = p.flex.slots, int64(p.flex.longest.Seconds()), ends(p.flex.longest)
	if r.Done = ends(flexLeast); r.Done.Sub(limits) > flexLeast {
		r.DoneLimit, r.DoneSpan = byFlex, nil // what rows take of the limits does not decide it
	}
	if !r.Deadline.IsZero() && r.Done.After(r.Deadline) && !limits.After(r.Deadline) {
		r.Ways = append(r.Ways, way{What: "--service-tier standard", Done: limits})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// flexLine says what flex makes of the end; "" where it has no part in it.
func (r planReport) flexLine(now time.Time) string {
	if r.Latest.IsZero() {
		return ""
	}
	longest := time.Duration(r.FlexMost) * time.Second
	return fmt.Sprintf("answers take %s to %s each, %d calls at once: done %s if all are quick, %s if none is",
		ago(flexLeast), ago(longest), r.Slots, r.clock(r.Done, now), r.clock(r.Latest, now))
}
