package scheduler

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestTellRun: an event is kept once for each run, kind and occasion, whoever tells.
func TestTellRun(t *testing.T) {
	r := newRig(t, realRedis(t))
	run := enqueued(t, r.store)
	at := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for _, e := range []RunEvent{
		{Run: run.ID, Kind: RunStarted, At: at},
		{Run: run.ID, Kind: RunStarted, At: at.Add(time.Hour)},
		{Run: run.ID, Kind: RunCapped, Text: "$5.00 are spent", Occasion: "5000000"},
		{Run: run.ID, Kind: RunCapped, Text: "$5.00 are spent", Occasion: "5000000"},
		{Run: run.ID, Kind: RunCapped, Text: "$9.00 are spent", Occasion: "9000000"},
	} {
		r.must(r.c.TellRun(t.Context(), e))
	}
	want := []string{"run " + run.Title() + " has begun", "run " + run.Title() + " is stopped by its cap: $5.00 are spent", "run " + run.Title() + " is stopped by its cap: $9.00 are spent"}
	if got := r.events(EventRun); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if n := r.rdb.LLen(t.Context(), scopeKey(testScope, "runevents")).Val(); n != 3 {
		t.Errorf("%d events wait for hooks, want 3", n)
	}
	var wrong *ConfigError
	if err := r.c.TellRun(t.Context(), RunEvent{Run: run.ID, Kind: "lunch"}); !errors.As(err, &wrong) {
		t.Errorf("a kind that is none: %v", err)
	}
}
