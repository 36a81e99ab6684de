package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestPlainProgress: without a terminal a line is said when something has changed, at
// most every ten seconds, and now and then as a sign of life.
func TestPlainProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := (&streams{Err: &out}).newBar("night", 10)
	now := b.last
	b.now = func() time.Time { return now }
	for second := 0; second <= 1300; second++ {
		done := int64(3)
		if second >= 40 {
			done = 4
		}
		b.show(done, "waiting")
		now = now.Add(time.Second)
	}
	want := "night 3 of 10  waiting\nnight 4 of 10  waiting\nnight 4 of 10  waiting (as 10m00s ago)\nnight 4 of 10  waiting (as 10m00s ago)\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if b.set(10, 10); !strings.HasSuffix(out.String(), "night 10 of 10\n") {
		t.Error(out.String())
	}
}
