package worker

import (
	"context"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
)

// waitCauses adds the limiter's refusals up to what people look at: whatever is not
// here keeps every call of the lane from being of use.
var waitCauses = map[limiter.Reason]jobs.WaitCause{
	limiter.ReasonQuota:     jobs.WaitQuota,
	limiter.ReasonShare:     jobs.WaitQuota,
	limiter.ReasonSmoothing: jobs.WaitQuota,
	limiter.ReasonSlots:     jobs.WaitQuota, // only asked for in a lane that is short of it: see slots.short, slots.cause
	limiter.ReasonCooldown:  jobs.WaitQuota,
	limiter.ReasonProvider:  jobs.WaitQuota,
	limiter.ReasonTurn:      jobs.WaitTurn,
	limiter.ReasonSpend:     jobs.WaitSpend,
	limiter.ReasonNoPrice:   jobs.WaitSpend,
	limiter.ReasonTooLarge:  jobs.WaitSpend, // of money; else the row ends
}

// pauseCauses are those of a pause by its reason; an operator's and the brake's are
// paused. The words are the scheduler's.
var pauseCauses = map[string]jobs.WaitCause{
	"window":      jobs.WaitWindow,
	"health":      jobs.WaitHealth,
	"budget":      jobs.WaitSpend,
	"daily":       jobs.WaitQuota,
	"credentials": jobs.WaitErrors,
}

// throttleCauses are those of a class's share, by the reason of who set it; any other's
// is quota.
var throttleCauses = map[string]jobs.WaitCause{
	"window": jobs.WaitWindow,
	"health": jobs.WaitHealth,
}

// deniedWaits is what a row waits for that our own gate refused.
func deniedWaits(d *limiter.Denied) jobs.WaitCause {
	detail, throttled := strings.CutPrefix(d.Detail, "throttle ")
	reason, _, _ := strings.Cut(detail, " ")
	reason = strings.TrimSuffix(reason, ":")
	if d.Reason == limiter.ReasonPaused {
		if c, ok := pauseCauses[reason]; ok {
			return c
		}
		return jobs.WaitPaused
	}
	if c, ok := throttleCauses[reason]; ok && throttled && d.Reason == limiter.ReasonShare {
		return c
	}
	if slices.Contains(slotLimits, d.Limiter) && (d.Reason == limiter.ReasonQuota || d.Reason == limiter.ReasonShare) {
		return jobs.WaitSlots
	}
	if c, ok := waitCauses[d.Reason]; ok {
		return c
	}
	return jobs.WaitErrors
}

// slotLimits are the limits that are held while a call is under way: what waits for
// them waits for the end of another call.
var slotLimits = []string{
	limiter.Limit{Unit: limiter.Concurrency, Window: limiter.Held}.Name(), limiter.Limit{Unit: limiter.Streams, Window: limiter.Held}.Name(),
}

// verdictWaits is what a row waits for after an answer of the provider that is not
// the row's fault.
func verdictWaits(v gemini.Verdict) jobs.WaitCause {
	switch v.Kind {
	case gemini.Wait, gemini.DailyReset, gemini.Backoff:
		return jobs.WaitQuota
	case gemini.BudgetStop:
		return jobs.WaitSpend
	}
	return jobs.WaitErrors
}

// Closings remembers when something was closed (limiter.Redis).
type Closings interface {
	Closings(ctx context.Context, l limiter.Lane, class string, p limiter.Path, feature string) ([]limiter.Closing, error)
}

// ClosedBy fits jobs.StoreOptions.Closed: when a run was closed, by what rows wait for.
// While no worker serves its lane they wait for that, whatever they were told before.
func ClosedBy(lim Closings, rdb redis.UniversalClient) func(context.Context, jobs.Run) ([]jobs.Stretch, error) {
	return func(ctx context.Context, r jobs.Run) ([]jobs.Stretch, error) {
		lane, err := limiter.ParseLane(r.Spec.Lane)
		if err != nil {
			return nil, err
		}
		list, err := lim.Closings(ctx, lane, r.Spec.Class, pathOf(r), r.Spec.Feature)
		if err != nil {
			return nil, err
		}
		out, err := unserved(ctx, rdb, r.Spec.Lane)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if cause, ok := closingWaits(c); ok {
				out = append(out, jobs.Stretch{Cause: cause, From: c.From, To: c.To})
			}
		}
		return out, nil
	}
}

// closingWaits is what a run's rows wait for while something is closed; false for what
// leaves their class a share that a person chose.
func closingWaits(c limiter.Closing) (jobs.WaitCause, bool) {
	switch c.By {
	case limiter.ByPause:
		if cause, ok := pauseCauses[c.Reason]; ok {
			return cause, true
		}
		return jobs.WaitPaused, true
	case limiter.ByThrottle:
		cause, ok := throttleCauses[c.Reason]
		return cause, ok
	case limiter.ByMoney:
		return jobs.WaitSpend, true
	}
	if cause, ok := waitCauses[limiter.Reason(c.Reason)]; ok {
		return cause, true
	}
	return jobs.WaitErrors, true
}
