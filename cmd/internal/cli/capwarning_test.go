package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// TestCapWarning: a cap below what the input costs, and one that lets few calls be under
// way, are said with the command that helps; one that does neither is not.
func TestCapWarning(t *testing.T) {
	l, err := loadText(t, "run: {model: gemini-3.5-flash}\nmodels: {gemini-3.5-flash: {rpm: 100}}\n")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	p := &jobs.Planned{Rows: 1000, Input: jobs.Span{Low: 10_000_000, Mid: 10_000_000, High: 10_000_000}}
	run := jobs.Run{ID: "x", Spec: jobs.Spec{Name: "night", Model: "gemini-3.5-flash", Settings: jobs.Settings{MaxOutputTokens: 1000}}}
	for cap, want := range map[int64]string{
		0:           "",
		1_000_000:   "warning: the input alone costs $15.00, --max-cost is $1.00 (what answers cost is not known: nightshift sample tells):\n  nightshift set night --max-cost 25",
		100_000_000: "",
	} {
		run.Spec.Steer.MaxCost = cap
		if got := l.capWarning(run, p, 32, now); got != want {
			t.Errorf("at %s: %q, want %q", usd(cap), got, want)
		}
	}
	run.Spec.Steer.MaxCost, p.Rows, p.Input = 100_000, 100, jobs.Span{Low: 1000, Mid: 1000, High: 1000}
	got := l.capWarning(run, p, 32, now)
	for _, want := range []string{"--max-cost $0.10 lets 11 calls be in flight at once, not 32, since each holds the $0.009", "a smaller --max-output-tokens holds less for each (it is 1,000 now)", "nightshift set night --max-cost 0.29"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := l.capWarning(run, p, 10, now); got != "" {
		t.Errorf("ten workers' calls fit: %q", got)
	}
}

// TestCapWarningAmount: whoever enqueues under a cap below what is expected is told an
// amount that lets the run end, and the same once the cap has stopped it; and how calls
// hold less where their answers have no bound.
func TestCapWarningAmount(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "run: {model: gemini-3.5-flash}\nmodels: {gemini-3.5-flash: {rpm: 100}}\n")
	if err != nil {
		t.Fatal(err)
	}
	run := jobs.Run{ID: "x", Spec: jobs.Spec{Name: "night2", Model: "gemini-3.5-flash"}}
	run.Spec.Steer.MaxCost = 1_000_000
	p := &jobs.Planned{Rows: 9999, Source: jobs.PlannedLearned, Input: jobs.Span{Low: 900_000, Mid: 900_000, High: 900_000}, Cost: &jobs.Span{Low: 3_150_000, Mid: 3_300_000, High: 3_300_000}}
	got := l.capWarning(run, p, 32, time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC))
	for _, want := range []string{"expected to cost $3.15 to $3.30, --max-cost $1.00 stops it", "nightshift set night2 --max-cost 4\n",
		"lets 1 call be in flight at once, not 32", "--max-output-tokens N holds less for each (an answer may have 65,536 tokens now)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	stopped := scheduler.Capped{Cap: 1_000_000, Spent: 1_000_000, Rest: 2_150_000, Next: 590_000}
	if got := stopped.Sentence("night2"); !strings.HasSuffix(got, "nightshift set night2 --max-cost 4 goes on") {
		t.Error(got)
	}
}

// TestSetKeep: how long a run is kept may change while it goes on, or has ended.
func TestSetKeep(t *testing.T) {
	now := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	c := &loaded{}
	var s jobs.Spec
	for _, x := range []struct{ text, want string }{{"30d", "30d"}, {"forever", "forever"}, {"none", "none: until it is purged"}} {
		if steerTexts(t, &s, now, jobs.SetKeep, x.text); showKeep(c, s, now) != x.want {
			t.Errorf("%s is shown as %q", x.text, showKeep(c, s, now))
		}
	}
	if err := readKeep(c, &s, "soon", now); err == nil || !strings.Contains(err.Error(), "30d, 2w or 36h, or forever") {
		t.Errorf("soon: %v", err)
	}
}
