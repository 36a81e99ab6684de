package cli

import (
	"testing"

	"nightshift/jobs"
	"nightshift/limiter"
)

// TestOtherProject: a run is of the project of its lane.
func TestOtherProject(t *testing.T) {
	t.Parallel()
	b := &backend{conf: &loaded{}}
	b.conf.Gemini.Project = "p"
	for lane, want := range map[string]string{"gemini/p/global/m": "", "gemini/shop/global/m": "shop", "unreadable": ""} {
		if got := b.otherProject(jobs.Run{Spec: jobs.Spec{Lane: lane}}); got != want {
			t.Errorf("%s: %q, want %q", lane, got, want)
		}
	}
}

// TestOtherRunsLine: however many there are, they take one line.
func TestOtherRunsLine(t *testing.T) {
	t.Parallel()
	for want, count := range map[string]map[string]int{
		"": nil,
		"not shown: 2 runs of project shop on the same Redis; nightshift status --project shop":                     {"shop": 2},
		"not shown: 3 runs of 2 other projects on the same Redis; nightshift status --project a shows those of one": {"shop": 2, "a": 1},
	} {
		if got := otherRunsLine(count); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDropEnded: a pause is shown while something waits for its end.
func TestDropEnded(t *testing.T) {
	t.Parallel()
	o := &overview{
		Runs:   []runStatus{openRun("a", jobs.Normal, 1), openRun("b", jobs.Normal, 0)},
		Pauses: []limiter.Pause{{Run: "a"}, {Run: "b"}, {Class: "bulk"}},
	}
	o.dropEnded()
	if len(o.Pauses) != 2 || o.Pauses[0].Run != "a" || o.Pauses[1].Class != "bulk" {
		t.Errorf("%+v", o.Pauses)
	}
}
