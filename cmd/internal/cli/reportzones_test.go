package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// TestReportOfAnotherRun: what happened to another run, also to one that was purged, is in no
// other run's report, whatever of the run its subject or text names.
func TestReportOfAnotherRun(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Run = jobs.Run{ID: "ours1", Spec: jobs.Spec{Name: "night"}}
	others := map[string]string{"other1": "tags", "gone1": "old (purged)"}
	for _, c := range []struct {
		kind, subject, text string
		another             bool
	}{
		{limiter.EventPause, "ours1", "run night is paused by ada", false},
		{limiter.EventAlert, "run/ours1 usd_total", "usd_total of run/ours1 is at 80 %", false},
		{limiter.EventAlert, "ours1 brake", "run night has been paused for 20m", false},
		{limiter.EventPause, "bulk", "class bulk is paused by ada", false},
		{limiter.EventPause, "other1", "run tags is paused by ada", true},
		{limiter.EventAlert, "other1 brake", "run tags has been paused for 20m", true},
		{limiter.EventAlert, "run/other1 usd_total", "usd_total of run/other1 is at 80 %", true},
		{scheduler.EventRecovered, "run/gone1 usd_total", "over: usd_total of run/gone1", true},
		{limiter.EventLimits, "run/unknown", "limits of run/unknown", true},
		{limiter.EventAlert, "bulk", "run tags is late", true},
		{limiter.EventAlert, "bulk", "run tags-of-all is nobody's", false},
		{limiter.EventAlert, "bulk", "run night is late, since run tags is before it", false},
		{scheduler.EventRun, "nightly", "nightly was missed", true},
	} {
		if got := r.ofAnother(limiter.Event{Kind: c.kind, Subject: c.subject, Text: c.text}, others); got != c.another {
			t.Errorf("%s, %q: of another run: %v", c.subject, c.text, got)
		}
	}
}

// TestReportSaysItsZones: each time on the page stands with its zone, or under a head
// that says it; a run of some minutes has seconds.
func TestReportSaysItsZones(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	at := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	r.Zone, r.From, r.To = "Asia/Tokyo", at, at.Add(8*time.Hour)
	r.Planned = &jobs.Planned{Done: at.Add(7 * time.Hour)}
	r.Run.Spec.Steer.Deadline = at.Add(9 * time.Hour)
	r.Events = []reportEvent{{Event: limiter.Event{At: at.Add(time.Hour), Kind: limiter.EventPause, Text: "run night is closed by its window until 2026-11-30T23:30:00Z"}, Times: 1}}
	out := rendered(t, r, "markdown")
	for _, want := range []string{"Ended 15:00 JST after ", "enqueued: 07:00 JST", "expected end: 14:00 JST (1 h late)", "deadline: 16:00 JST (1 h early)",
		"| AT (Asia/Tokyo) | WHAT |", "| 08:00 | run night is closed by its window until 08:30 JST |"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	r.To = at.Add(8 * time.Minute)
	r.Planned.Done = at.Add(7*time.Minute + 30*time.Second)
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "expected end: 07:07:30 JST") || !strings.Contains(out, "Ended 07:08:00 JST") {
		t.Errorf("of minutes:\n%s", out)
	}
}
