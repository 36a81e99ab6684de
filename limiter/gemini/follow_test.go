package gemini_test

import (
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestFollow: an answer that a simulation met does to the lane what one does that the
// Transport met.
func TestFollow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	scope := limiter.Scope{Provider: "gemini", Project: "proj"}
	lane := limiter.Lane{Provider: "gemini", Project: "proj", Region: "global", Model: "m"}
	m := limiter.NewModel(scope, now)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.Configure(t.Context(), limiter.Config{Scope: scope, Classes: []limiter.Class{{Name: "interactive"}},
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limiter.Limits{RPM: 100}}}}))
	ask := func(id string) *limiter.Permit {
		t.Helper()
		p, err := m.Acquire(t.Context(), limiter.Request{ID: id, Lane: lane, Class: "interactive", Feature: "chat", Amounts: limiter.Amounts{1}})
		must(err)
		return p
	}
	state := func() limiter.LaneState {
		t.Helper()
		s, err := m.State(t.Context(), lane)
		must(err)
		return s
	}
	_, err := gemini.Follow(t.Context(), m, ask("good"), gemini.Verdict{}, now)
	must(err)
	if s := state(); s.Cooldown != nil || s.Broken() != nil || s.Limits[0].Lowered != nil {
		t.Fatalf("after a good answer: %+v", s)
	}
	next, err := gemini.Follow(t.Context(), m, ask("refused"), gemini.Verdict{Kind: gemini.Wait, Scope: gemini.ScopeModel, Reason: "rpm", RetryAfter: 5 * time.Second}, now)
	must(err)
	if s := state(); s.Cooldown == nil || s.Limits[0].Lowered == nil || next.Job.Action != gemini.JobWaits {
		t.Errorf("after a 429 for a minute: %+v, the job %+v", s, next.Job)
	}
	now = now.Add(10 * time.Second)
	m.SetNow(now)
	_, err = gemini.Follow(t.Context(), m, ask("broke"), gemini.Verdict{Kind: gemini.BudgetStop, Scope: gemini.ScopeProject, Reason: "monthly_cap", RetryAt: now.AddDate(0, 1, 0)}, now)
	must(err)
	if s := state(); s.Broken() == nil {
		t.Fatalf("after the month's cap: %+v", s)
	}
	now = now.Add(24 * time.Hour)
	m.SetNow(now)
	probe := ask("look")
	if !probe.Probe {
		t.Fatal("a day later nobody looks")
	}
	_, err = gemini.Follow(t.Context(), m, probe, gemini.Verdict{}, now)
	must(err)
	if s := state(); s.Broken() != nil {
		t.Errorf("a look that went well: %+v", s)
	}
}
