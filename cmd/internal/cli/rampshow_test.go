package cli

import (
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// lastStep is a ramp that has had all of its time.
func lastStep(phase gemini.RampPhase) gemini.Ramp {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	return gemini.Ramp{Steps: []int64{500_000, ppm}, Step: 1, Over: time.Hour, Ramped: 30 * time.Minute, Moved: 20,
		Phase: phase, HeldBy: "ada", Started: at, Changed: at.Add(time.Hour), Since: at.Add(2 * time.Hour)}
}

// TestRampStateAtTheEnd: what stands still or is held is not told as done, and a share
// is as old as it is, whenever the ramp was resumed.
func TestRampStateAtTheEnd(t *testing.T) {
	t.Parallel()
	for phase, want := range map[gemini.RampPhase]string{
		gemini.RampMoving: "all moved", gemini.RampBad: "stands still: bad", gemini.RampHeld: "held by ada",
	} {
		r := lastStep(phase)
		since := r.Since
		if phase == gemini.RampMoving {
			since = r.Changed
		}
		if got := rampState(r); got != want || !stateSince(r).Equal(since) {
			t.Errorf("%s: %q since %s, want %q since %s", phase, got, stateSince(r), want, since)
		}
	}
}
