package worker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
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
		{limiter.ReasonShare, "throttle window by scheduler: else 10 %", jobs.WaitWindow},
		{limiter.ReasonShare, "throttle operator by ann", jobs.WaitQuota},
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
	for name, want := range map[string]jobs.WaitCause{"concurrency": jobs.WaitSlots, "streams": jobs.WaitSlots, "rpm": jobs.WaitQuota} {
		for _, reason := range []limiter.Reason{limiter.ReasonQuota, limiter.ReasonShare} {
			d := &limiter.Denied{Reason: reason, Limiter: name, RetryAfterMS: 1}
			s := newSlots(1)
			if s.deny(deniedWaits(d), time.Now()); refused(d).cause != want || s.cause() != want {
				t.Errorf("%s by %s waits for %v, and without a slot for %v; want %v", reason, name, refused(d).cause, s.cause(), want)
			}
		}
	}
	if got := verdictWaits(gemini.Verdict{Kind: gemini.Permanent, Credential: true}); got != jobs.WaitErrors {
		t.Errorf("a revoked key is %v", got)
	}
}

// TestClosedBy: what closes a run counts for what people call it, and nothing that was
// there before or that closes another run.
func TestClosedBy(t *testing.T) {
	t.Parallel()
	mini := miniredis.RunT(t)
	now := time.Date(2026, 11, 30, 1, 30, 0, 0, time.UTC)
	mini.SetTime(now)
	rdb := redis.NewClient(&redis.Options{Addr: mini.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	lane, err := limiter.ParseLane(testLane)
	if err != nil {
		t.Fatal(err)
	}
	lim := limiter.NewRedis(rdb, lane.Scope(), limiter.RedisOptions{})
	run := jobs.Run{ID: "r1", Spec: jobs.Spec{Lane: testLane, Class: "bulk", Feature: "f", Priority: jobs.High, Tenant: "acme"}}
	for _, p := range []limiter.Pause{
		{Run: "r1", Reason: "brake"}, {Run: "r2", Reason: "operator"}, {Class: "bulk", Reason: "health", Until: now.Add(time.Minute)}, {Class: "agent", Reason: "health"},
		{Lane: testLane, Priority: limiter.High, Reason: "window"}, {Lane: testLane, Priority: limiter.Low, Reason: "operator"}, {Lane: testLane, Reason: "credentials"},
	} {
		if err := lim.Pause(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for _, th := range []limiter.Throttle{{Class: "bulk", Reason: "operator", FromPPM: 1, ToPPM: 1}, {Class: "bulk", Reason: "window", FromPPM: 1, ToPPM: 1}} {
		if err := lim.Throttle(t.Context(), th); err != nil {
			t.Fatal(err)
		}
	}
	if err := lim.MoneyShort(t.Context(), "tenant/acme", "bulk", 3*time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"r1", "r2"} {
		if err := lim.RunSlowed(t.Context(), id, "window", 5*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ClosedBy(lim, rdb)(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, s := range got {
		if !s.From.Equal(now) {
			t.Errorf("%v began %v", s.Cause, s.From)
		}
		text = append(text, fmt.Sprint(s.Cause, " ", s.To.Sub(now)*time.Duration(min(1, max(0, s.To.Unix())))))
	}
	slices.Sort(text)
	if want := []string{"errors 0s", "health 1m0s", "paused 0s", "spend 3m0s", "window 0s", "window 0s", "window 5m0s"}; !slices.Equal(text, want) {
		t.Errorf("closed by %q, want %q", text, want)
	}
	for c, want := range map[limiter.Closing]jobs.WaitCause{
		{By: limiter.ByRest, Reason: "cooldown"}: jobs.WaitQuota, {By: limiter.ByRest, Reason: "credentials"}: jobs.WaitErrors,
		{By: limiter.ByBreaker, Reason: "breaker"}: jobs.WaitErrors, {By: limiter.ByBreaker, Reason: "spend"}: jobs.WaitSpend,
	} {
		if got, ok := closingWaits(c); !ok || got != want {
			t.Errorf("%+v is %v", c, got)
		}
	}
}
