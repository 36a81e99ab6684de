package jobs

import (
	"testing"
	"time"
)

// TestRampShare: a tenth at first, more in ten even steps, all of it at the end and
// where there is no ramp.
func TestRampShare(t *testing.T) {
	from := time.Date(2026, 12, 1, 1, 30, 0, 0, time.UTC)
	s := Steering{Ramp: 10 * time.Minute, RampFrom: from}
	for _, c := range []struct {
		after time.Duration
		ppm   int64
		next  time.Duration
	}{
		{-time.Minute, 100_000, time.Minute}, // of a clock that runs behind
		{0, 100_000, time.Minute},
		{59 * time.Second, 100_000, time.Minute},
		{time.Minute, 190_000, 2 * time.Minute},
		{5 * time.Minute, 550_000, 6 * time.Minute},
		{9*time.Minute + 59*time.Second, 910_000, 10 * time.Minute},
	} {
		if ppm, until := s.RampShare(from.Add(c.after)); ppm != c.ppm || !until.Equal(from.Add(c.next)) {
			t.Errorf("after %s: %d ppm until %s, want %d until %s", c.after, ppm, until, c.ppm, from.Add(c.next))
		}
	}
	for _, s := range []Steering{s, {}} {
		if ppm, until := s.RampShare(from.Add(10 * time.Minute)); ppm != 1_000_000 || !until.IsZero() {
			t.Errorf("%+v at the end: %d ppm until %s", s, ppm, until)
		}
	}
	if (Steering{Ramp: 25 * time.Hour}).Check() == nil || !s.Watched() {
		t.Error("a ramp of more than a day is taken, or nobody looks after one")
	}
}
