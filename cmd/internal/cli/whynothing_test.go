package cli

import (
	"strings"
	"testing"
)

// TestWhyNothing: what has no record is told, so that nobody thinks it lost.
func TestWhyNothing(t *testing.T) {
	t.Parallel()
	err := (&whyOptions{What: "7f1d3a5c"}).nothing(&loaded{}, "no run")
	for _, want := range []string{`"7f1d3a5c"`, "gateway's log only", "open, lapsed or was released"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
