package gemini

import (
	"context"
	"errors"
	"time"

	"nightshift/limiter"
)

// leastPause keeps a wait in place from turning into a busy loop, whatever
// retry times it is given.
const leastPause = 20 * time.Millisecond

// acquireWaiting asks until there is a permit, a refusal for good, or no time to
// wait: the budget is over, or worth says that with a further pause the call would
// have too little time left.
func acquireWaiting(ctx context.Context, gate Gate, req limiter.Request, budget time.Duration, worth func(pause time.Duration) error) (*limiter.Permit, error) {
	start := time.Now()
	for {
		permit, err := gate.Acquire(ctx, req)
		var denied *limiter.Denied
		if err == nil || !errors.As(err, &denied) {
			return permit, err
		}
		pause := max(denied.RetryAfter(), leastPause)
		if !mayWait(denied) || time.Since(start)+pause > budget || worth(pause) != nil {
			return nil, err
		}
		if !sleep(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// mayWait says whether asking again later can help a caller that waits here.
func mayWait(d *limiter.Denied) bool {
	return !d.Permanent && d.Reason != limiter.ReasonSlots && d.Reason != limiter.ReasonUnavailable
}

// sleep waits; false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// callGate asks the gate as a call does that may pass without a permit while the
// shared state is away.
type callGate struct {
	Gate
	c *call
}

// Acquire is the call's own way of asking.
func (g callGate) Acquire(_ context.Context, req limiter.Request) (*limiter.Permit, error) {
	return g.c.askGate(req)
}
