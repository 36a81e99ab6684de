package gemini

import "context"

// DegradeFunc is a func as a Degrader: a service's own answer for calls that get
// none of their model's.
type DegradeFunc func(context.Context, DegradeRequest) (a DegradedAnswer, ok bool, err error)

// Degrade calls f.
func (f DegradeFunc) Degrade(ctx context.Context, r DegradeRequest) (DegradedAnswer, bool, error) {
	return f(ctx, r)
}
