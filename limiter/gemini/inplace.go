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

// Dropper takes back the place of one who waited. *limiter.Redis is one.
type Dropper interface {
	Drop(ctx context.Context, lane limiter.Lane, ids ...string) error
}

// acquireWaiting asks until there is a permit, a refusal for good, or no time to
// wait: the budget is over, or worth says that with a further pause the call would
// have too little time left. Meanwhile the caller has its place among those who wait;
// when it leaves, the place is given back.
func acquireWaiting(ctx context.Context, gate Gate, req limiter.Request, budget time.Duration, worth func(pause time.Duration) error) (*limiter.Permit, error) {
	inPlace := budget > 0 && req.Ticket == "" && !req.Full && !req.Force
	if inPlace {
		req.Ticket = req.ID // of classes whose callers stand in line with jobs
	}
	w := wait{gate: gate, req: req, until: time.Now().Add(budget), inPlace: inPlace, worth: worth}
	permit, err := w.acquire(ctx)
	if err != nil && w.placed {
		w.leave(ctx, err)
	}
	return permit, err
}

// leftError is the context's end between two asks: the last was answered, so nothing
// can have been granted.
type leftError struct{ error }

// Unwrap gives the context's error.
func (e leftError) Unwrap() error { return e.error }

// wait is a caller who waits in place.
type wait struct {
	gate    Gate
	req     limiter.Request
	until   time.Time
	inPlace bool // it may have a place; else it only comes back
	placed  bool // it has one
	worth   func(pause time.Duration) error
}

func (w *wait) acquire(ctx context.Context) (*limiter.Permit, error) {
	for {
		left := time.Until(w.until)
		if w.inPlace {
			w.req.Wait = max(left, 0)
		}
		permit, err := w.gate.Acquire(ctx, w.req)
		var denied *limiter.Denied
		if err == nil || !errors.As(err, &denied) {
			return permit, err
		}
		if hungUp(ctx, denied) {
			return nil, ctx.Err()
		}
		w.placed = denied.Position > 0 && w.inPlace
		pause := w.pause(denied)
		if !mayWait(denied) || pause > left || w.worth(pause) != nil {
			return nil, err
		}
		if !sleep(ctx, pause) {
			return nil, leftError{ctx.Err()}
		}
	}
}

// hungUp holds for a caller who left while the shared state was asked: that it has no
// answer is its own doing, and says nothing about the shared state.
func hungUp(ctx context.Context, d *limiter.Denied) bool {
	return d.Reason == limiter.ReasonUnavailable && errors.Is(ctx.Err(), context.Canceled)
}

// pause is how long until it asks again.
func (w *wait) pause(d *limiter.Denied) time.Duration {
	if w.placed {
		return max(d.AskAgain(), leastPause)
	}
	return max(d.RetryAfter(), leastPause)
}

// leave gives the place back, and the refusal no longer speaks of one. It does not
// hold up the caller, who has waited long enough; a place that nobody asks for ends
// by itself.
func (w *wait) leave(ctx context.Context, err error) {
	var denied *limiter.Denied
	if errors.As(err, &denied) {
		denied.Ticket, denied.Position, denied.Decision = "", 0, limiter.RejectedLocally
	}
	d, ok := w.gate.(Dropper)
	if !ok {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_ = d.Drop(ctx, w.req.Lane, w.req.ID)
	}()
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
	permit, err := g.c.askGate(req)
	var denied *limiter.Denied
	if errors.As(err, &denied) {
		g.c.obs.waitedFor = denied.Reason
	}
	return permit, err
}

// Drop is the gate's, if it keeps places at all.
func (g callGate) Drop(ctx context.Context, lane limiter.Lane, ids ...string) error {
	if d, ok := g.Gate.(Dropper); ok {
		return d.Drop(ctx, lane, ids...)
	}
	return nil
}
