package gemini

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// DefaultMaxStream is how long a stream of a class without a bound of its own may
// last: Gemini ends calls of the standard tier after ten minutes.
const DefaultMaxStream = 10 * time.Minute

// StreamTimeError ends a stream that lasted longer than its class may hold one. What
// came is charged.
type StreamTimeError struct {
	Class string
	Most  time.Duration
}

func (e *StreamTimeError) Error() string {
	return fmt.Sprintf("the stream was ended: it lasted %s, the most for class %s", e.Most, e.Class)
}

// maxStream is the longest that the call may stream; 0 when it does not, or is only
// observed.
func (c *call) maxStream() time.Duration {
	if !c.route.rule.stream || c.t.cfg.Observe {
		return 0
	}
	return cmp.Or(c.t.cfg.MaxStream[c.caller.Class], DefaultMaxStream)
}

// bound ends a stream that lasts too long, from when it is sent.
func (c *call) bound() {
	most := c.maxStream()
	if most == 0 {
		return
	}
	c.ctx, c.unbound = context.WithTimeoutCause(c.ctx, most, &StreamTimeError{Class: c.caller.Class, Most: most})
}
