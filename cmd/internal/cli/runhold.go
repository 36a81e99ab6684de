package cli

import (
	"context"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// runHold is what keeps one run from working: a pause of its class, its queue or
// itself, or its lane's trouble; the zero hold is nothing.
func (b *backend) runHold(ctx context.Context, run jobs.Run, pauses []limiter.Pause, fleet []worker.WorkerInfo, now time.Time) (hold, error) {
	if p := pauseOf(pauses, run); p != nil {
		return hold{pauseSentence(p, now), p.Until}, nil
	}
	return b.holdOf(ctx, run.Spec.Lane, fleet, now)
}

// pauseOf is the pause that keeps the run closed longest; nil when none does.
func pauseOf(pauses []limiter.Pause, run jobs.Run) *limiter.Pause {
	var longest *limiter.Pause
	for i, p := range pauses {
		if !pauseCloses(p, run) {
			continue
		}
		if longest == nil || !longest.Until.IsZero() && (p.Until.IsZero() || p.Until.After(longest.Until)) {
			longest = &pauses[i]
		}
	}
	return longest
}

func pauseCloses(p limiter.Pause, run jobs.Run) bool {
	switch {
	case p.Class != "":
		return p.Class == run.Spec.Class
	case p.Run != "":
		return p.Run == run.ID
	}
	return p.Lane == run.Spec.Lane && (p.Priority == "" || jobs.Priority(p.Priority) == run.Spec.Priority)
}

// shareOf says what a class is held back to; "" when it is not.
func (b *backend) shareOf(ctx context.Context, class string, now time.Time) string {
	throttles, err := b.lim.Throttles(ctx)
	if err != nil {
		return "" // what is asked for is a forecast: the next command will say that Redis is away
	}
	for _, t := range throttles {
		if t.Class == class {
			return throttleSentence(t, now)
		}
	}
	return ""
}
