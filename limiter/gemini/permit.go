package gemini

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"nightshift/limiter"
)

// admit gets the permit, waiting in place as long as the class may.
func (c *call) admit() error {
	switch {
	case c.route.rule.counted:
		return c.admitCount()
	case !c.route.rule.tokens:
		return nil
	}
	if err := cmp.Or(c.worthSending(0), c.priced()); err != nil {
		return err
	}
	start := time.Now()
	budget := cmp.Or(c.caller.MaxWait, c.t.cfg.MaxWait[c.caller.Class])
	err := c.acquire(budget)
	if side := c.backFor(err); side != "" {
		if err = c.turnBack(side); err == nil {
			err = c.acquire(max(budget-time.Since(start), 0))
		}
	}
	c.obs.Waited = time.Since(start)
	if c.t.cfg.Observe {
		return c.observe(err)
	}
	if err != nil {
		err = c.passSoftly(err)
	}
	if err != nil {
		return err
	}
	return c.worthSending(0)
}

// acquire gets a permit, or the refusal that the call ends with, after waiting as long
// as the budget.
func (c *call) acquire(budget time.Duration) error {
	req := c.request()
	if c.t.cfg.Observe {
		budget = 0
	}
	permit, err := acquireWaiting(c.ctx, callGate{c.t.cfg.Gate, c}, req, budget, c.worthSending)
	if err == nil {
		c.obs.Permit, c.obs.Over = permit, cmp.Or(c.obs.Over, permit.Over)
		c.t.cfg.Metrics.grant(permit)
		return nil
	}
	var denied *limiter.Denied
	var left leftError
	switch {
	case errors.As(err, &left):
	case !errors.As(err, &denied) || denied.Reason == limiter.ReasonUnavailable && c.asked:
		c.giveBack(req)
	}
	return err
}

func (c *call) request() limiter.Request {
	req := limiter.Request{
		ID: newID(), Lane: c.obs.Lane, Class: c.caller.Class, Path: c.caller.Path, Feature: c.caller.Feature,
		Amounts: c.obs.Estimate, Ticket: c.caller.Ticket, Full: c.caller.Full,
	}
	if c.t.cfg.Observe {
		req.Force, req.Ticket, req.Full = true, "", false
	}
	if deadline, ok := c.ctx.Deadline(); ok {
		req.Lease = time.Until(deadline) + c.t.cfg.Bounds.LeaseReserve
	}
	if most := c.maxStream(); most > 0 {
		req.Lease = min(cmp.Or(req.Lease, most+c.t.cfg.Bounds.LeaseReserve), most+c.t.cfg.Bounds.LeaseReserve)
	}
	return req
}

// giveBack releases a permit that may have been given although no answer came:
// the id is ours, so releasing one that does not exist changes nothing. It does
// not hold up the caller, who already has bad news.
func (c *call) giveBack(req limiter.Request) {
	ctx := context.WithoutCancel(c.ctx)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, c.t.cfg.Bounds.Settle)
		defer cancel()
		s := limiter.Settlement{ID: req.ID, Lane: req.Lane, Outcome: limiter.Released}
		if err := c.t.cfg.Gate.Settle(ctx, s); err != nil {
			c.t.late.keepUnsure(s, cmp.Or(req.Lease, limiter.DefaultLease), err)
		}
	}()
}

// worthSending refuses a call that would have too little time left after the
// pause for the provider to take it.
func (c *call) worthSending(pause time.Duration) error {
	deadline, ok := c.ctx.Deadline()
	if !ok || c.t.cfg.Observe {
		return nil
	}
	left := time.Until(deadline) - pause
	if left >= c.t.cfg.Bounds.LeastTime {
		return nil
	}
	return c.deny(limiter.ReasonDeadline, func(d *limiter.Denied) {
		d.RetryAfterMS, d.RetryAt = 1000, c.t.cfg.Now().Add(time.Second)
		d.Detail = "only " + left.Round(time.Millisecond).String() + " left for the call, " +
			c.t.cfg.Bounds.LeastTime.String() + " are needed"
	})
}

// admitCount is the transport's own small limit for countTokens, which costs
// no tokens and has no documented quota.
func (c *call) admitCount() error {
	wait := c.t.counts.take(time.Now())
	if wait == 0 || c.t.cfg.Observe {
		return nil
	}
	return c.deny(limiter.ReasonQuota, func(d *limiter.Denied) {
		d.Limiter, d.Node, d.Limit = "count_tokens_rpm", "transport", int64(c.t.cfg.Bounds.CountPerMin)
		d.Used, d.Shortage = d.Limit, 1
		d.RetryAfterMS, d.RetryAt = max(1, wait.Milliseconds()), c.t.cfg.Now().Add(wait)
	})
}

var _ http.RoundTripper = (*Transport)(nil)
