package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler/sim"
)

// TestUsesOf: what a history has by class is replayed in the order of time.
func TestUsesOf(t *testing.T) {
	t.Parallel()
	series := func(class string, ns ...int64) gemini.HistorySeries {
		s := gemini.HistorySeries{Name: class}
		for i, n := range ns {
			s.Points = append(s.Points, gemini.UsageSample{At: at(7, i), Requests: n, InputTokens: 10 * n})
		}
		return s
	}
	got := usesOf(&gemini.HistoryData{N: 2, Step: time.Minute, Groups: []gemini.HistorySeries{series("bulk", 5, 0), series("interactive", 1, 2)}})
	if len(got) != 3 || got[0].Class != "bulk" || got[2].Class != "interactive" || !got[2].At.Equal(at(7, 1)) ||
		got[0].Used[limiter.Requests] != 5 || got[0].Used[limiter.InputTokens] != 50 || got[0].Lasted != time.Minute {
		t.Errorf("%+v", got)
	}
}

// TestReplayWords: only what the change adds is said of it.
func TestReplayWords(t *testing.T) {
	t.Parallel()
	was := []sim.Borne{{Class: "interactive", Calls: 1000, Refused: 3}, {Class: "bulk", Calls: 5000}}
	is := []sim.Borne{{Class: "interactive", Calls: 1000, Refused: 13}, {Class: "bulk", Calls: 5000, Delayed: 4000, Longest: 12 * time.Minute, Left: 7}}
	got := strings.Join(replayWords("flash", was, is), "\n")
	for _, want := range []string{"flash, interactive: of 1,000 calls of the last 24 h 10 would have been refused (more", "4,000 would have been delayed, by up to 12m0s", "7 not done by now"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := strings.Join(replayWords("flash", was, was), "\n"); strings.Count(got, "none would have been refused or delayed") != 2 {
		t.Errorf("of a change that changes nothing: %s", got)
	}
	if got := replayWords("flash", nil, nil); len(got) != 1 || !strings.Contains(got[0], "no calls of the last 24 h are recorded") {
		t.Errorf("of nothing: %v", got)
	}
}
