package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/limiter"
)

// askGate asks once. A call that may pass without a permit, since it is only
// observed or its class has a local allowance, is not held up by a shared state
// that is away: it waits for an answer no longer than Bounds.Away, and after that
// only one such call of the process tries at a time.
func (c *call) askGate(req limiter.Request) (*limiter.Permit, error) {
	if !c.t.cfg.Observe && c.t.soft.gate(c.caller.Class) == nil {
		c.asked = true
		return c.t.cfg.Gate.Acquire(c.ctx, req)
	}
	wait := c.t.cfg.Bounds.Away
	if cause := c.t.away.known(time.Now(), wait); cause != nil {
		return nil, c.unavailable(cause)
	}
	c.asked = true
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	permit, err := c.t.cfg.Gate.Acquire(ctx, req)
	if c.ctx.Err() != nil { // a caller that hangs up says nothing about the shared state
		return permit, err
	}
	if cause := awayCause(ctx, err); cause != nil {
		c.t.away.note(cause, time.Now(), wait)
		return nil, c.unavailable(cause)
	}
	c.t.away.clear()
	return permit, err
}

var errNoAnswer = errors.New("no answer")

// awayCause is what kept the shared state from answering, or nil if it did.
func awayCause(ctx context.Context, err error) error {
	var d *limiter.Denied
	switch {
	case errors.As(err, &d) && d.Reason == limiter.ReasonUnavailable:
		return cmp.Or(d.Unwrap(), errNoAnswer)
	case err != nil && ctx.Err() != nil:
		return err
	}
	return nil
}

// unavailable is this call's refusal for want of an answer.
func (c *call) unavailable(cause error) error {
	d := c.deny(limiter.ReasonUnavailable, func(d *limiter.Denied) {
		d.RetryAfterMS, d.RetryAt = 1000, c.t.cfg.Now().Add(time.Second)
	})
	return &awayError{d, cause}
}

// awayError is a refusal with what kept the shared state from deciding.
type awayError struct {
	denied *limiter.Denied
	cause  error
}

func (e *awayError) Error() string {
	return fmt.Sprintf("no permit for %s as %s: the shared state cannot be reached: %v", e.denied.Model, e.denied.Class, e.cause)
}

// Unwrap gives the refusal first: it is the one that callers act on.
func (e *awayError) Unwrap() []error { return []error{e.denied, e.cause} }

// away remembers that the shared state gave no answer.
type away struct {
	mu    sync.Mutex
	cause error     // nil while it answers; guarded by mu
	until time.Time // when the next call may try; guarded by mu
}

// known gives the cause, or nil to a caller that is to try.
func (a *away) known(now time.Time, wait time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cause == nil || now.Before(a.until) {
		return a.cause
	}
	a.until = now.Add(2 * wait) // the others go on without asking while this one tries
	return nil
}

func (a *away) note(cause error, now time.Time, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cause, a.until = cause, now.Add(3*wait) // people wait: one call in a while finds out
}

func (a *away) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cause = nil
}
