package gemini

import (
	"slices"
	"testing"
	"time"
)

// TestTally: one line a minute, with how many it stands for.
func TestTally(t *testing.T) {
	var x tally
	var lines []int64
	for i := range 13 {
		if n, due := x.note(meterNoon.Add(time.Duration(i) * 6 * time.Second)); due {
			lines = append(lines, n)
		}
	}
	if !slices.Equal(lines, []int64{1, 10}) {
		t.Errorf("lines that stand for %v; want 1 and 10", lines)
	}
}
