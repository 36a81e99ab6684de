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
	o, b := showing("table")
	o.printNotes("m ", []limiter.LimitState{l})
	for _, got := range []string{b.String(), strings.Join(limitNotes(l, at(22, 0)), "\n")} {
		if !strings.Contains(got, "lowered to at most 7 calls at once") || strings.Contains(got, "%") {
			t.Errorf("told as %q", got)
		}
	}
}
