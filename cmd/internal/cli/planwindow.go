package cli

import (
	"fmt"
	"time"

	"nightshift/scheduler"
)

// windowTime is how much of the lane's limits a run's windows leave, as time at all of
// them: until the deadline, else until the next window closes. perMinute is the rows that
// the limits let through. until is zero where no window is.
func (p prospect) windowTime(deadline time.Time, perMinute float64) (has time.Duration, until time.Time) {
	gates, _ := windowsOf(p.runs[0].gates)
	if len(gates) == 0 || !deadline.IsZero() && !deadline.After(p.now) {
		return 0, time.Time{}
	}
	rate, turn := atAll(gates, p.now)
	for t := p.now; ; {
		end := turn
		if !deadline.IsZero() && (end.IsZero() || end.After(deadline)) {
			end = deadline
		}
		if end.IsZero() || end.Sub(p.now) > horizon {
			return 0, time.Time{} // it never closes
		}
		has += time.Duration(float64(end.Sub(t)) * rateShare(rate, perMinute))
		next, then := atAll(gates, end)
		if end.Equal(deadline) || deadline.IsZero() && has > 0 && faster(rate, next) {
			return has, end
		}
		t, rate, turn = end, next, then
	}
}

// rateShare is what a rate leaves of limits that let so many rows a minute through.
func rateShare(r scheduler.Rate, perMinute float64) float64 {
	part := float64(r.PPM) / ppm
	if r.PerMinute > 0 {
		part = min(part, float64(r.PerMinute)/perMinute)
	}
	return part
}

// windowLine is the run's timetable, and how what it leaves stands to what rows need; ""
// where it has none.
func (r planReport) windowLine(now time.Time) string {
	if r.HasUntil.IsZero() || r.Limit == "" {
		return r.Window
	}
	second := func(n int64) string { return ago(time.Duration(n) * time.Second) }
	return fmt.Sprintf("%s: has %s of the limits until %s, the rows need %s",
		orElse(r.Window, "of the class"), second(r.Has), r.clock(r.HasUntil, now), second(r.Needs))
}
