package gemini

import (
	"context"
	"slices"
	"time"

	"nightshift/limiter"
)

// How long lanes rest when the verdict gives no time of its own. Longer and
// growing rests belong to a breaker; these only keep the calls of one moment
// from repeating each other's failure.
const (
	restUnknown    = time.Minute     // an unexplained 429: one more try for the whole fleet, then again
	restProject    = time.Minute     // spend rate: the window rolls, so room comes back bit by bit
	restHopeless   = 5 * time.Minute // no quota, no such model, no money: until somebody acts
	restCredential = 2 * time.Minute // short, so that a new key is tried soon
	restCapacity   = time.Second     // a shared 429 is no quota: concurrency is what has to fall
	restMost       = 26 * time.Hour  // a day of 25 hours, and some
)

// rest lets the lane, or every lane of the project, rest when the verdict is
// about more than this one call.
func (c *call) rest() {
	v := c.obs.Verdict
	if v == nil || c.obs.Lane.Model == "" {
		return
	}
	if d, _ := restOf(*v); d > 0 && c.obs.Soft {
		c.t.soft.rest(c.obs.Lane, time.Now().Add(min(d, restMost)))
	}
	if c.t.cooler == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	coolLanes(ctx, c.t.cooler, c.t.cfg.Lanes, c.obs.Lane, *v, func(lane limiter.Lane, err error) {
		c.t.log.Warn("the lane could not be told to rest", "lane", lane.String(), "verdict", v.Reason, "error", Redact(err.Error()))
	})
}

// coolLanes tells the lanes that a verdict is about to rest. failed may be nil.
func coolLanes(ctx context.Context, cooler Cooler, all *LaneMap, lane limiter.Lane, v Verdict, failed func(limiter.Lane, error)) {
	d, why := restOf(v)
	if d <= 0 {
		return
	}
	for _, l := range affected(all, lane, v) {
		err := cooler.Cool(ctx, l, min(d, restMost), why, "provider: "+v.Reason)
		if err != nil && failed != nil {
			failed(l, err)
		}
	}
}

func affected(all *LaneMap, lane limiter.Lane, v Verdict) []limiter.Lane {
	if v.Scope != ScopeProject && v.Scope != ScopeBilling {
		return []limiter.Lane{lane}
	}
	lanes := all.Lanes()
	if !slices.Contains(lanes, lane) {
		lanes = append(lanes, lane)
	}
	return lanes
}

// restOf is how long, and by which rule later requests are refused meanwhile.
// A second is added to the provider's hints, which are of its clock and way.
func restOf(v Verdict) (time.Duration, limiter.Reason) {
	switch v.Scope {
	case ScopeJob, ScopeTool, ScopeWorker:
		return 0, ""
	}
	switch v.Kind {
	case Wait:
		if v.Scope == ScopeProject {
			return min(v.RetryAfter+time.Second, restProject), limiter.ReasonSpend
		}
		return v.RetryAfter + time.Second, limiter.ReasonCooldown
	case DailyReset:
		return v.RetryAfter + time.Second, limiter.ReasonCooldown
	case BudgetStop:
		return restHopeless, limiter.ReasonSpend
	case Permanent:
		if v.Scope == ScopeProject || v.Scope == ScopeBilling {
			return restCredential, limiter.ReasonCredentials
		}
		return restHopeless, limiter.ReasonBreaker
	case Unknown:
		return max(restUnknown, v.RetryAfter), limiter.ReasonCooldown
	case Backoff:
		if v.Reason == "capacity" {
			return max(restCapacity, min(v.RetryAfter, time.Minute)), limiter.ReasonCooldown
		}
	}
	return 0, ""
}
