package cli

import (
	"strings"
	"testing"

	"nightshift/limiter"
)

// TestLoweredCalls: calls at once that are lowered from what nobody set are told by
// how many are left: a part of it reads as if nothing passed.
func TestLoweredCalls(t *testing.T) {
	t.Parallel()
	l := limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Requests, Amount: 10_000, Window: limiter.Held}, Name: "concurrency", Effective: 7,
		Lowered: &limiter.Lowering{PPM: 999_300, Until: at(22, 10)}}
	lane := limiter.LaneState{Lane: limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}, Limits: []limiter.LimitState{l}}
	screen := (&overview{At: at(22, 0), Lanes: []limiter.LaneState{lane}}).laneLines()
	o, b := showing("table")
	o.printNotes("m ", []limiter.LimitState{l})
	for _, got := range []string{b.String(), strings.Join(limitNotes(l, at(22, 0)), "\n"), taught([]limiter.LaneState{lane}, nil)[0].Is, screen[0][strings.Index(screen[0], "lowered"):]} {
		if !strings.Contains(got, "lowered to at most 7 calls at once") || strings.Contains(got, "%") {
			t.Errorf("told as %q", got)
		}
	}
}

// TestNobodySetCalls: a limit of calls at once that only the provider's want of room made
// is set by nobody; one that somebody set is.
func TestNobodySetCalls(t *testing.T) {
	t.Parallel()
	l := limiter.LimitState{Limit: limiter.Limit{Unit: limiter.Concurrency, Amount: 10_000, Window: limiter.Held}, Name: "concurrency", Effective: 7}
	set := l
	set.Amount = 8
	rows := limitTable([]limiter.LimitState{l, set}, at(22, 0), at(22, 0)).rows
	if rows[0][4] != "–" || rows[1][4] != "8" || !limitView(l, at(22, 0), at(22, 0)).Unset || limitView(set, at(22, 0), at(22, 0)).Unset {
		t.Errorf("set is %q", rows)
	}
}
