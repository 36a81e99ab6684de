package cli

import (
	"strings"
	"testing"
	"time"
)

// TestPlanWindowTime: what windows leave is said beside what the rows need, until the
// deadline, or else until the next one closes.
func TestPlanWindowTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	for _, c := range []struct {
		name, window    string
		deadline, until time.Time
		has             time.Duration
	}{
		{"a night", "22:00-07:00@100%, else @0%", time.Time{}, at(13), 9 * time.Hour},
		{"a deadline within it", "22:00-07:00@100%, else @0%", at(10), at(10), 6 * time.Hour},
		{"a deadline after two", "22:00-07:00@100%, else @0%", at(40), at(40), 18 * time.Hour},
		{"a tenth by day", "22:00-07:00@100%, else @10%", at(13), at(13), 9*time.Hour + 24*time.Minute},
		{"half of the limits", "22:00-07:00@300rpm, else @0%", time.Time{}, at(13), 4*time.Hour + 30*time.Minute},
		{"none before the deadline", "22:00-07:00@100%, else @0%", at(3), at(3), 0},
		{"none at all", "", at(3), time.Time{}, 0},
	} {
		p := prospectOf(now, 600)
		if c.window != "" {
			p.runs[0].gates = []gate{window(t, c.window)}
		}
		has, until := p.windowTime(c.deadline, 600)
		if (has-c.has).Abs() > time.Second || !until.Equal(c.until) {
			t.Errorf("%s: %s until %s, want %s until %s", c.name, has, until, c.has, c.until)
		}
	}
	r := planReport{Window: "22:00-07:00", Zone: "UTC", Limit: "rpm", Needs: 36_000, Has: 32_400, HasUntil: at(13)}
	if got := r.windowLine(now); got != "22:00-07:00: has 9h00m of the limits until Tue 1 Dec 07:00 UTC, the rows need 10h00m" {
		t.Error(got)
	}
}

// TestForecastBehindAWindow: a wait for the window is not said to be the limits'.
func TestForecastBehindAWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 0, 14, 0, 0, time.Local)
	f := forecast{took: 21*time.Hour + 46*time.Minute + 3*time.Second, limit: "rpm", held: 21*time.Hour + 46*time.Minute}
	if got := f.sentence(now); !strings.HasPrefix(got, "about 21h46m (no row may go before 22:00:00 ") || !strings.Contains(got, "; then 3s at the limits (rpm binds)), done by 22:00:03 ") {
		t.Error(got)
	}
	f.took = f.held
	if got := f.sentence(now); !strings.HasPrefix(got, "about 21h46m (no row may go before 22:00:00 ") || strings.Contains(got, "then") {
		t.Error(got)
	}
	run := openRun("night", "normal", 600)
	run.gates = []gate{window(t, "22:00-07:00@100%, else @0%")}
	var r planReport
	p := prospectOf(time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC), 600, run.gates...)
	r.time(p, &batch{})
	if got := r.begins.Sub(p.now); got != 4*time.Hour {
		t.Errorf("begins after %s", got)
	}
}
