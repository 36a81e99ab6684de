package gemini

import (
	"context"
	"time"

	"nightshift/limiter"
)

// Caller says on whose behalf a call is made. It travels in the context; a
// call without a class and a feature is refused before a permit is taken.
type Caller struct {
	Class   string
	Feature string
	Path    limiter.Path
	Run     string // run id of a bulk row
	Row     string // row id of a bulk row
	Attempt int    // from 1
	// Lane is used for a model that the LaneMap does not know: whoever made the
	// job knew its limits, and the gate has them. The zero Lane is none.
	Lane    limiter.Lane
	Ticket  string // what waits when there is no room; empty: nothing does
	Full    bool   // see limiter.Request.Full
	TraceID string // made by the transport when empty
	// Parent is the caller's own span in the trace and its flags, as W3C's traceparent
	// has them: "00f067aa0ba902b7-01". It only goes into the record.
	Parent string
	// MaxWait is how long the transport may wait in place for a permit. Zero
	// takes the class's own.
	MaxWait time.Duration
	// Instead is the model that was asked for, when the call is made to another
	// in its place. It only goes into the record.
	Instead string
	// Session names a conversation, so that a ramp keeps all of it at one model; ""
	// lets the ramp tell by how it begins.
	Session string
	// Other is a model that may answer in the place of the one that is asked, when
	// a FallbackRule is for such calls (Named).
	Other string
}

type callerKey struct{}

// WithCaller names the caller for every Gemini call made under the context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom gives the caller that WithCaller named.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}
