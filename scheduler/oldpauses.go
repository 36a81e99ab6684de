package scheduler

import (
	"context"
	"fmt"
	"time"

	"nightshift/limiter"
)

const (
	// oldAfter is when a person's pause without an end is told of: nights begin
	// and end within it.
	oldAfter = 12 * time.Hour
	oldAgain = 24 * time.Hour
)

// TellOld reminds of pauses that people set without an end and may have
// forgotten: by an alert after half a day, and each day from then on. They are
// never lifted.
func (c *Control) TellOld(ctx context.Context) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	pauses, err := c.Limiter.Pauses(ctx)
	if err != nil {
		return err
	}
	for _, p := range pauses {
		endless := p.Until.IsZero() || isMirror(p)
		if p.Reason != ReasonOperator || !endless || now.Sub(p.Since) < oldAfter {
			continue
		}
		t := targetOf(p)
		first, err := c.Redis.SetNX(ctx, scopeKey(c.Scope, "old:"+t.String()), p.Since.UnixMilli(), oldAgain).Result()
		if err != nil {
			return fmt.Errorf("telling of old pauses: %w", err)
		}
		if first {
			c.note(ctx, limiter.EventAlert, t, p.Owner, fmt.Sprintf("%s has been paused by %s for %s: nightshift resume %s",
				t.Describe(), p.Owner, now.Sub(p.Since).Round(time.Hour), t))
		}
	}
	return nil
}
