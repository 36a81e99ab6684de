package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestEventOfAWindow: an event tells the timetable, and not what it allowed just then.
func TestEventOfAWindow(t *testing.T) {
	t.Parallel()
	spec := jobs.Spec{Steer: jobs.Steering{Window: "22:00-07:00@100%, else @10%", Zone: "UTC"}}
	s, now := settingNamed(jobs.SetWindow), time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	if got := s.shown(&loaded{}, spec, now); !strings.Contains(got, "; now ") {
		t.Fatalf("shown as %q", got)
	}
	if got, want := s.kept(&loaded{}, spec, now), "22:00-07:00@100%, else @10% in UTC"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
