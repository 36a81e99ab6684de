package gemini

import (
	"context"

	"nightshift/limiter"
)

// Reporter takes what answers say about the limits that we keep. *limiter.Redis
// is one.
type Reporter interface {
	Report(context.Context, limiter.Feedback) error
}

// report tells what the verdict on an admitted call says about the lane's limits,
// once for each verdict. A call that was let through over a limit, or without a
// permit, says nothing about it.
func (c *call) report() {
	p := c.obs.Permit
	if c.t.reporter == nil || p == nil || p.Over != "" || c.obs.Over != "" || c.obs.Verdict == nil || c.obs.Consequence == nil {
		return
	}
	f, ok := feedbackOf(*c.obs.Verdict, *c.obs.Consequence)
	if !ok {
		return
	}
	f.Lane, f.Shared = c.obs.Lane, c.shared(c.obs.Verdict.Bucket)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	if err := c.t.reporter.Report(ctx, f); err != nil {
		c.t.log.Warn("the provider's refusal is not taken into account", "lane", f.Lane.String(), "verdict", c.obs.Verdict.Reason, "error", Redact(err.Error()))
	}
}

// shared is the model of another lane that the provider counts the call against, the
// first time that this process hears of it.
func (c *call) shared(bucket string) string {
	if bucket == "" {
		return ""
	}
	other, _, err := c.t.cfg.Lanes.Lookup(bucket)
	if err != nil || other == c.obs.Lane {
		return ""
	}
	if _, heard := c.t.sharing.LoadOrStore([2]string{c.obs.Lane.Model, other.Model}, true); heard {
		return ""
	}
	return other.Model
}

// feedbackOf reads what follows from a verdict as what our own limits are to learn.
func feedbackOf(v Verdict, next Consequence) (limiter.Feedback, bool) {
	f := limiter.Feedback{Kind: next.Lane.Lower, Limit: next.Lane.Limit}
	if f.Kind == limiter.RejectedAfterAdmit {
		f.QuotaValue = v.Limit
	}
	return f, f.Kind != ""
}
