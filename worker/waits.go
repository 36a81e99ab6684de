package worker

import (
	"strings"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// waitCauses adds the limiter's refusals up to what people look at: whatever is not
// here keeps every call of the lane from being of use.
var waitCauses = map[limiter.Reason]jobs.WaitCause{
	limiter.ReasonQuota:     jobs.WaitQuota,
	limiter.ReasonShare:     jobs.WaitQuota,
	limiter.ReasonSmoothing: jobs.WaitQuota,
	limiter.ReasonSlots:     jobs.WaitQuota, // only asked for in a lane that is short of it
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

// deniedWaits is what a row waits for that our own gate refused.
func deniedWaits(d *limiter.Denied) jobs.WaitCause {
	reason, _, _ := strings.Cut(strings.TrimPrefix(d.Detail, "throttle "), " ")
	reason = strings.TrimSuffix(reason, ":")
	if d.Reason == limiter.ReasonPaused {
		if c, ok := pauseCauses[reason]; ok {
			return c
		}
		return jobs.WaitPaused
	}
	if d.Reason == limiter.ReasonShare && reason == "health" {
		return jobs.WaitHealth
	}
	if c, ok := waitCauses[d.Reason]; ok {
		return c
	}
	return jobs.WaitErrors
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
