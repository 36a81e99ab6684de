package cli

import (
	"time"

	"nightshift/limiter"
)

// loweredWords says how far a limit is lowered. Calls at once are told by how many are
// left: where nobody set how many there may be, the part that is off says nothing.
func loweredWords(l limiter.LimitState) string {
	if l.Window == limiter.Held {
		return "to at most " + plural(int(l.Effective), "call") + " at once"
	}
	return "by " + limiter.Share(l.Lowered.PPM)
}

// loweredUntil is the whole of it: "lowered to at most 7 calls at once until 22:10 CET".
func loweredUntil(l limiter.LimitState, now time.Time) string {
	return "lowered " + loweredWords(l) + " until " + clockIn(l.Lowered.Until, now, time.Local)
}
