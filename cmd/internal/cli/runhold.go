package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
	"nightshift/worker"
)

// runHold is what keeps one run from working: a pause of its class, its queue or
// itself, or its lane's trouble; the zero hold is nothing.
func (b *backend) runHold(ctx context.Context, run jobs.Run, pauses []limiter.Pause, fleet []worker.WorkerInfo, now time.Time) (hold, error) {
	if p := pauseOf(pauses, run); p != nil {
		h := hold{why: pauseSentence(called(p, run), now), until: b.pauseEnds(p, run, now), unsure: ownCap(p), paused: true, brief: pauseBrief(p, now)}
		switch p.Reason {
		case scheduler.ReasonOperator:
			h.firm, h.lift = true, "nightshift resume "+shellWord(targetName(*p))
			if p.Run != "" {
				h.lift = "nightshift resume " + typed(run)
			}
		case scheduler.ReasonWindow:
			h.firm = true
		}
		return h, nil
	}
	h, err := b.holdOf(ctx, run.Spec.Lane, fleet, now)
	if err != nil || h.why != "" && !h.failing {
		return h, err
	}
	if money, err := b.moneyHold(ctx, run, now); err != nil || money.why != "" {
		return money, err
	}
	return h, nil
}

// called is a run's own pause with the name by which the run is known, as it is typed.
func called(p *limiter.Pause, run jobs.Run) *limiter.Pause {
	if p.Run == "" {
		return p
	}
	named := *p
	named.Run = typed(run)
	return &named
}

const brakeBrief = "stopped by its brake"

// pauseBrief is a pause in a few words.
func pauseBrief(p *limiter.Pause, now time.Time) string {
	switch {
	case p.Reason == scheduler.ReasonBrake:
		return brakeBrief
	case ownCap(p):
		return "stopped by its cap"
	case p.Reason == scheduler.ReasonWindow:
		return "closed by its window"
	case p.Reason == scheduler.ReasonHealth:
		return "paused for the callers' health"
	case p.Until.IsZero():
		return "paused by " + p.Owner
	}
	return "paused by " + p.Owner + " until " + clock(p.Until, now)
}

// moneyHold is the cap that the rows of a run wait for; of several the one that
// turns last.
func (b *backend) moneyHold(ctx context.Context, run jobs.Run, now time.Time) (h hold, err error) {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil || lane.Scope() != b.conf.scope() {
		return h, nil // another project's money is not ours to read
	}
	c, err := b.lim.Effective(ctx)
	if err != nil {
		return h, err
	}
	caps, err := b.lim.CapsOn(ctx, lane, c.NodesOf(runPath(run), run.Spec.Feature))
	if errors.Is(err, limiter.ErrUnknownLane) {
		return h, nil
	}
	for _, x := range caps {
		if slices.Contains(x.Stopped, run.Spec.Class) && (x.End.IsZero() || x.End.After(h.until)) {
			h = hold{why: stoppedSentence(x, run, now), until: x.End, unsure: true}
			if x.End.IsZero() {
				break // nothing lasts longer
			}
		}
	}
	return h, err
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
