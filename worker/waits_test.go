package worker

import (
	"testing"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestWaitCauses: every refusal is one of the few causes that a report adds up.
func TestWaitCauses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason limiter.Reason
		detail string
		want   jobs.WaitCause
	}{
		{limiter.ReasonQuota, "", jobs.WaitQuota},
		{limiter.ReasonShare, "", jobs.WaitQuota},
		{limiter.ReasonShare, "throttle health by monitor: p95 4.1 s", jobs.WaitHealth},
		{limiter.ReasonTurn, "", jobs.WaitTurn},
		{limiter.ReasonCooldown, "minute", jobs.WaitQuota},
		{limiter.ReasonSpend, "", jobs.WaitSpend},
		{limiter.ReasonNoPrice, "", jobs.WaitSpend},
		{limiter.ReasonPaused, "window: day", jobs.WaitWindow},
		{limiter.ReasonPaused, "window by scheduler:a: closed", jobs.WaitWindow},
		{limiter.ReasonPaused, "health", jobs.WaitHealth},
		{limiter.ReasonPaused, "budget by x", jobs.WaitSpend},
		{limiter.ReasonPaused, "operator by ann: window", jobs.WaitPaused},
		{limiter.ReasonPaused, "brake: 40 rows", jobs.WaitPaused},
		{limiter.ReasonBreaker, "", jobs.WaitErrors},
		{limiter.ReasonCredentials, "", jobs.WaitErrors},
		{limiter.ReasonUnavailable, "", jobs.WaitErrors},
	} {
		if out := refused(&limiter.Denied{Reason: tc.reason, Detail: tc.detail, RetryAfterMS: 1}); out.cause != tc.want {
			t.Errorf("%s %q waits for %v, want %v", tc.reason, tc.detail, out.cause, tc.want)
		}
	}
	if got := verdictWaits(gemini.Verdict{Kind: gemini.Permanent, Credential: true}); got != jobs.WaitErrors {
		t.Errorf("a revoked key is %v", got)
	}
}
