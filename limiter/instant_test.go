package limiter

import (
	"testing"
	"time"
)

// TestTellInstants: what was written as an Instant is told by another clock; what only
// looks like one, or is a user's own with another form, stays.
func TestTellInstants(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 23, 5, 9, 999, time.FixedZone("", -3600))
	text := "held until " + Instant(at) + ", not 2026-02-31T00:00:00Z, 2026-11-30T10:00:00+01:00"
	const want = "held until 01:05, not 2026-02-31T00:00:00Z, 2026-11-30T10:00:00+01:00"
	if got := TellInstants(text, func(t time.Time) string { return t.In(time.FixedZone("", 3600)).Format("15:04") }); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
