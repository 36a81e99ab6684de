package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestTightestBinds: a day's limit with room for all that waits does not bind where a
// minute's limit has to be waited for, however much of either is free now.
func TestTightestBinds(t *testing.T) {
	t.Parallel()
	limit := func(name string, w limiter.Window, amount, used int64) limiter.LimitState {
		return limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Requests, Window: w, Amount: amount}, Name: name, Effective: amount, Used: used}
	}
	e := &explained{Class: "bulk", Amounts: limiter.Amounts{limiter.Requests: 1}}
	e.Lane.Leaves = []limiter.LeafState{{Leaf: limiter.Path{Run: "r1"}.Leaf(), Waiting: 400}}
	e.Lane.Limits = []limiter.LimitState{limit("rpd", limiter.Day, 100_000, 4041)}
	e.Nodes = []limiter.NodeState{{Node: "run/r1", From: "run/r1", Limits: []limiter.LimitState{limit("rpm", limiter.Minute, 60, 1)}}}
	if got := tightestStep(e).name(); got != "rpm of run/r1" {
		t.Errorf("%q binds", got)
	}
	e.Lane.Limits[0].Used = 100_000
	if got := tightestStep(e).name(); got != "rpd" {
		t.Errorf("with the day used up %q binds", got)
	}
}

// TestPhaseBrief: a brake's sentence does not stand in a table's column.
func TestPhaseBrief(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("everything failed of this and that, ", 9)
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for want, h := range map[string]hold{
		brakeBrief:                       {why: long, paused: true, brief: brakeBrief},
		"the provider cannot be reached": {why: "the provider cannot be reached (network: " + long + ")", paused: true},
		"closed by its window":           {why: long, paused: true, brief: pauseBrief(&limiter.Pause{Run: "r", Reason: "window"}, now)},
	} {
		s := runStatus{counts: jobs.Counts{jobs.Waiting: 1}, Hold: h.why, hold: h}
		if got := s.brief(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestStopsBeforeItsEnd: whoever enqueues hears that the cap is below what is expected,
// and that the deadline is before the end.
func TestStopsBeforeItsEnd(t *testing.T) {
	t.Parallel()
	c, err := loadText(t, "run: {model: gemini-3.5-flash}\nmodels: {gemini-3.5-flash: {rpm: 100}}\n")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	run := jobs.Run{ID: "r", Spec: jobs.Spec{Name: "tags", Model: "gemini-3.5-flash"}}
	run.Spec.Steer.MaxCost = 30_000
	p := &jobs.Planned{Rows: 400, Source: jobs.PlannedLearned, Input: jobs.Span{Low: 400, Mid: 400, High: 400}, Cost: &jobs.Span{Low: 50_000, Mid: 60_000, High: 70_000}}
	if got := c.capWarning(run, p, 1, now); !strings.Contains(got, "stops it before its end, at about 200 of 400 rows") || !strings.Contains(got, "nightshift set tags --max-cost 0.66") {
		t.Errorf("%q", got)
	}
	run.Spec.Steer.Deadline = now.Add(time.Hour)
	if got := c.lateWarning(run, now.Add(2*time.Hour), now); !strings.Contains(got, "nightshift set tags --deadline TIME") {
		t.Errorf("%q", got)
	}
	if got := c.lateWarning(run, now.Add(time.Minute), now); got != "" {
		t.Errorf("in time, and %q", got)
	}
}
