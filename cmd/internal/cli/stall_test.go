package cli

import (
	"testing"
	"time"
)

// TestStall: why nothing moves is looked up after a while, until it is said, and
// again only once something has moved.
func TestStall(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	var x stall
	for _, step := range []struct {
		after time.Duration
		done  int64
		want  bool
	}{
		{0, 3, false}, {14 * time.Second, 3, false}, {time.Second, 3, true}, // not found: it is looked up again
		{time.Second, 3, false}, {15 * time.Second, 3, true},
	} {
		at = at.Add(step.after)
		if got := x.due(step.done, at); got != step.want {
			t.Errorf("at %s with %d: %v", at, step.done, got)
		}
	}
	x.said = true
	if x.due(3, at.Add(time.Hour)) || x.due(4, at.Add(time.Hour)) || !x.due(4, at.Add(2*time.Hour)) {
		t.Error("said twice, or not again after something moved")
	}
}
