package scheduler

import (
	"slices"
	"time"

	"nightshift/limiter"
)

// PausedFor is for how long of a time pauses let nothing start. What is throttled goes on.
func PausedFor(list []limiter.Closing, from, to time.Time) (sum time.Duration) {
	list = slices.DeleteFunc(slices.Clone(list), func(c limiter.Closing) bool { return c.By != limiter.ByPause })
	slices.SortFunc(list, func(a, b limiter.Closing) int { return a.From.Compare(b.From) })
	for _, c := range list {
		if c.From.After(from) {
			from = c.From
		}
		end := to
		if !c.To.IsZero() && c.To.Before(to) {
			end = c.To
		}
		if end.After(from) {
			sum, from = sum+end.Sub(from), end
		}
	}
	return sum
}
