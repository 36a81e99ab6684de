package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
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
		1_000_000:   "warning: the input alone costs $15.00, --max-cost is $1.00: nightshift set night --max-cost 22.50",
		100_000_000: "",
	} {
		run.Spec.Steer.MaxCost = cap
		if got := l.capWarning(run, p, 32, now); got != want {
			t.Errorf("at %s: %q, want %q", usd(cap), got, want)
		}
	}
	run.Spec.Steer.MaxCost, p.Rows, p.Input = 100_000, 100, jobs.Span{Low: 1000, Mid: 1000, High: 1000}
	got := l.capWarning(run, p, 32, now)
	for _, want := range []string{"--max-cost $0.10 lets 11 calls be in flight at once, not 32, since a row may cost $0.009", "--max-output-tokens (an answer may have 1,000 now)", "nightshift set night --max-cost 0.29"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := l.capWarning(run, p, 10, now); got != "" {
		t.Errorf("ten workers' calls fit: %q", got)
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
