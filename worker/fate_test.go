package worker

import (
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestFate: what a simulation is told is what the worker does.
func TestFate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if f := FateRefused(&limiter.Denied{Reason: limiter.ReasonQuota, RetryAfterMS: 7000}); f != (Fate{Wait: 8 * time.Second}) {
		t.Errorf("refused by a limit: %+v; want asynq's second more", f)
	}
	if f := FateRefused(&limiter.Denied{Reason: limiter.ReasonTooLarge, Permanent: true}); !f.Ends {
		t.Errorf("too large for good: %+v", f)
	}
	fate := func(v gemini.Verdict, attempts int) Fate {
		return FateFailed(gemini.ConsequenceOf(v, gemini.Ledger{Now: now}), v, 503, attempts, 0.5, now)
	}
	overloaded := gemini.Verdict{Kind: gemini.Backoff, Scope: gemini.ScopeModel, Reason: "overloaded"}
	if a, b := fate(overloaded, 0), fate(overloaded, 1); !a.Counted || a.Wait != 2500*time.Millisecond || b.Wait != 5*time.Second {
		t.Errorf("a passing fault: %+v, then %+v", a, b)
	}
	if f := fate(gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeJob, Reason: "bad_request"}, 0); !f.Ends {
		t.Errorf("a bad request: %+v", f)
	}
	month := gemini.Verdict{Kind: gemini.BudgetStop, Scope: gemini.ScopeProject, Reason: "monthly_cap", RetryAt: now.AddDate(0, 1, 0)}
	if f := fate(month, 0); f.Ends || f.Counted || f.Wait != lineUp+time.Second {
		t.Errorf("a month's cap: %+v; want a row that stands in line", f)
	}
}
