package cli

import (
	"context"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// toTarget pauses or resumes something, and says what held it before and after.
func (d *deed) toTarget(ctx context.Context, be *backend, t scheduler.Target, now time.Time, do func() error) error {
	if d == nil {
		return do()
	}
	c := be.control()
	d.about(c.Describe(ctx, t))
	before, err := be.pausesOf(ctx, t, now)
	if err != nil {
		return err
	}
	failed := do()
	if after, err := be.pausesOf(context.WithoutCancel(ctx), t, now); err == nil {
		d.changed(before, after)
	}
	return failed
}

// toRamp does something to a ramp, and says how it stood before and stands after.
func (d *deed) toRamp(ctx context.Context, x *scheduler.Ramps, r gemini.Ramp, do func() error) error {
	if d == nil {
		return do()
	}
	d.about("ramp " + rampTitle(r))
	failed := do()
	after := "forgotten"
	if now, err := x.Find(context.WithoutCancel(ctx), r.Scope, r.From); err == nil {
		after = rampNow(now)
	} else if failed != nil {
		after = ""
	}
	d.changed(rampNow(r), after)
	return failed
}
