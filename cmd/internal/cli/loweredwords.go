package cli

import "nightshift/limiter"

// loweredWords says how far a limit is lowered. Calls at once are told by how many are
// left: where nobody set how many there may be, the part that is off says nothing.
func loweredWords(l limiter.LimitState) string {
	if l.Window == limiter.Held {
		return "to at most " + plural(int(l.Effective), "call") + " at once"
	}
	return "by " + limiter.Share(l.Lowered.PPM)
}
