package worker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/hibiken/asynq"
)

// TestVerdicts is the table in words: what ends a row, what costs it an attempt
// and what only lets it wait.
func TestVerdicts(t *testing.T) {
	now := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name    string
		verdict gemini.Verdict
		status  int
		want    string
	}{
		{"minute quota", gemini.Verdict{Kind: gemini.Wait, Scope: gemini.ScopeModel, Reason: "rpm", RetryAfter: 17 * time.Second}, 429, "waits 17s"},
		{"minute quota without a time", gemini.Verdict{Kind: gemini.Wait, Scope: gemini.ScopeModel, Reason: "rpm"}, 429, "waits 15s"},
		{"day quota", gemini.Verdict{Kind: gemini.DailyReset, Scope: gemini.ScopeModel, Reason: "rpd", RetryAt: now.Add(9 * time.Hour)}, 429, "waits 9h0m0s"},
		{"prepaid credits gone", gemini.Verdict{Kind: gemini.BudgetStop, Scope: gemini.ScopeBilling, Reason: "prepay"}, 402, "waits 10m0s, alarm prepay"},
		{"capacity 429", gemini.Verdict{Kind: gemini.Backoff, Scope: gemini.ScopeModel, Reason: "capacity"}, 429, "waits 15s"},
		{"unexplained 429", gemini.Verdict{Kind: gemini.Unknown, Scope: gemini.ScopeModel, Reason: "unknown", RetryAfter: time.Minute}, 429, "waits 1m0s"},
		{"overloaded 503", gemini.Verdict{Kind: gemini.Backoff, Scope: gemini.ScopeModel, Reason: "overloaded"}, 503, "fails overloaded 503"},
		{"internal 500", gemini.Verdict{Kind: gemini.Backoff, Scope: gemini.ScopeJob, Reason: "internal"}, 500, "fails internal 500"},
		{"cause without a reason", gemini.Verdict{Kind: gemini.Backoff}, 502, "fails http_502 502"},
		{"invalid argument", gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeJob, Reason: "invalid_argument"}, 400, "ends failed invalid_argument 400"},
		{"a tool is out", gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeTool, Reason: "grounding"}, 429, "ends failed grounding 429"},
		{"revoked key", gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeProject, Reason: "api_key_invalid", Credential: true}, 400, "waits 1m0s, alarm api_key_invalid"},
		{"API disabled", gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeProject, Reason: "service_disabled"}, 403, "waits 1m0s, alarm service_disabled"},
		{"no such model", gemini.Verdict{Kind: gemini.Permanent, Scope: gemini.ScopeModel, Reason: "model_not_found"}, 404, "waits 1m0s, alarm model_not_found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := inWords(judge(gemini.ConsequenceOf(tc.verdict, gemini.Ledger{Now: now}), tc.verdict, tc.status, "the provider's words")); got != tc.want {
				t.Errorf("row %s, want: %s", got, tc.want)
			}
		})
	}
}

// inWords is an outcome as the tables of these tests write it.
func inWords(o outcome) string {
	alarm := ""
	if o.alarm != "" {
		alarm = ", alarm " + o.alarm
	}
	switch {
	case o.wait > 0:
		return "waits " + o.wait.String() + alarm
	case o.end == jobs.Done:
		return "done: " + o.output
	case o.end != jobs.None:
		return fmt.Sprintf("ends %v %s %d", o.end, o.fail.Cause, o.fail.Status)
	}
	return fmt.Sprintf("fails %s %d", o.fail.Cause, o.fail.Status)
}

// TestRefusals: our own gate's answers. Only a request that can never fit ends
// the row, and its message names the limit.
func TestRefusals(t *testing.T) {
	large := refused(&limiter.Denied{Reason: limiter.ReasonTooLarge, Permanent: true, Limiter: "input_tpm", Model: "m", Limit: 250_000, Shortage: 50_000})
	if got := inWords(large); got != "ends failed too_large 0" || !strings.Contains(large.fail.Message, "input_tpm") || !strings.Contains(large.fail.Message, "250000") {
		t.Errorf("too large: %s: %q, want the limit named", got, large.fail.Message)
	}
	unknown := refused(&limiter.Denied{Reason: limiter.ReasonUnknownLane, Permanent: true, Model: "m"})
	if unknown.wait != operatorWait || unknown.alarm == "" {
		t.Errorf("no limits configured: %s, want a wait for the operator and an alarm", inWords(unknown))
	}
}

// TestWaitText is what people read in asynqmon.
func TestWaitText(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("here", 9*3600)
	defer func() { time.Local = local }()
	now := time.Date(2026, 11, 29, 17, 0, 0, 0, time.UTC) // 02:00 here
	for _, tc := range []struct {
		denied limiter.Denied
		want   string
	}{
		{limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", RetryAfterMS: 847_000}, "waiting for quota (rpm) until 02:14:07 here (not a failure)"},
		{limiter.Denied{Reason: limiter.ReasonTurn, RetryAfterMS: 847_000}, "waiting for quota (others are before it) until 02:14:07 here (not a failure)"},
		{limiter.Denied{Reason: limiter.ReasonPaused, Detail: "operator by ann: new prompt", RetryAfterMS: 60_000}, "paused by operator (ann: new prompt) until 02:01:00 here (not a failure)"},
		{limiter.Denied{Reason: limiter.ReasonPaused, Detail: "window: day", RetryAfterMS: 60_000}, "paused by window (day) until 02:01:00 here (not a failure)"},
		{limiter.Denied{Reason: limiter.ReasonPaused, Detail: "health", RetryAfterMS: 60_000}, "paused by health until 02:01:00 here (not a failure)"},
		{limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpd", RetryAfterMS: 86_400_000}, "waiting for quota (rpd) until 2026-12-01 02:00 here (not a failure)"},
	} {
		out := refused(&tc.denied)
		if got := waitFor(out.why, out.wait, now).Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestDelays: asynq cuts times to whole seconds and may wake up to one early, so
// a wait gets a second more; failures back off and stay within 30 s.
func TestDelays(t *testing.T) {
	if got := retryDelay(3, &waitError{after: 5 * time.Second}, nil); got != 6*time.Second {
		t.Errorf("a wait of 5 s is asked for as %v", got)
	}
	if got := retryDelay(3, asynq.ErrLeaseExpired, nil); got != 0 {
		t.Errorf("a lost lease waits %v more", got)
	}
	for n := range 40 {
		low := min(time.Second<<min(n, 5), maxBackoff)
		if d := retryDelay(n, errors.New("x"), nil); d < low || d > maxBackoff {
			t.Errorf("after failure %d: %v, want between %v and %v", n, d, low, maxBackoff)
		}
	}
	if isFailure(fmt.Errorf("wrapped: %w", &waitError{})) || !isFailure(&retryError{}) || !isFailure(asynq.ErrLeaseExpired) {
		t.Error("waiting must not count; failures and lost leases must")
	}
}

// TestUnwellLane: rows keep their last attempt while nothing succeeds in the
// lane, but not for ever.
func TestUnwellLane(t *testing.T) {
	start := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	var h health
	for range unwellAfter - 1 {
		h.fail(start)
	}
	if h.bad(start) {
		t.Fatal("unwell too early")
	}
	h.fail(start)
	if !h.bad(start.Add(unwellFor - time.Second)) {
		t.Error("the lane is unwell, but its rows fail")
	}
	if h.bad(start.Add(unwellFor)) {
		t.Error("rows that break the provider by themselves would never end")
	}
	h.good()
	if h.bad(start) {
		t.Error("a good call did not end it")
	}
}

func TestShort(t *testing.T) {
	long := strings.Repeat("語", 200)
	got := short(long)
	if len(got) > 303 || !strings.HasPrefix(long, strings.TrimSuffix(got, "…")) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
