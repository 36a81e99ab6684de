package cli

import (
	"testing"

	"nightshift/limiter"
)

// TestTogether: what was done to several classes at once is one line; runs and
// other shares stay apart.
func TestTogether(t *testing.T) {
	t.Parallel()
	class := func(p *limiter.Pause) *string { return &p.Class }
	got := together([]limiter.Pause{
		{Class: "bulk", Reason: "health"}, {Class: "evaluation", Reason: "health"}, {Class: "bulk", Reason: "operator"},
		{Run: "a", Reason: "health"}, {Run: "b", Reason: "health"},
	}, class)
	if len(got) != 4 || got[0].Class != "bulk, evaluation" || got[1].Reason != "operator" || got[2].Run != "a" || got[3].Run != "b" {
		t.Errorf("%+v", got)
	}
}
