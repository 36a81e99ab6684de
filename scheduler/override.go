package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

// HoldMonitor keeps the monitor from deciding for d: what it has closed or
// throttled stays so, and so does what is open.
func (c *Control) HoldMonitor(ctx context.Context, d time.Duration, by string) (Hold, error) {
	if d <= 0 {
		return Hold{}, &ConfigError{"hold", "must be above zero"}
	}
	now, err := c.now(ctx)
	if err != nil {
		return Hold{}, err
	}
	h := Hold{Until: now.Add(d), By: by}
	if err := c.writeHold(ctx, h); err != nil {
		return h, err
	}
	c.noteHealth(ctx, limiter.EventHealth, by, "the health monitor is held until "+limiter.Instant(h.Until))
	return h, nil
}

// ReleaseMonitor ends a hold, also that of a resume with an override.
func (c *Control) ReleaseMonitor(ctx context.Context, by string) error {
	n, err := c.Redis.Del(ctx, scopeKey(c.Scope, "hold")).Result()
	if err != nil {
		return fmt.Errorf("releasing the monitor: %w", err)
	}
	if n > 0 {
		c.noteHealth(ctx, limiter.EventHealth, by, "the health monitor decides again")
	}
	return nil
}

func (c *Control) noteHealth(ctx context.Context, kind, by, text string) {
	c.note(ctx, kind, Target{Class: bulkClass}, by, text)
}

func (c *Control) writeHold(ctx context.Context, h Hold) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	if err := c.Redis.Set(ctx, scopeKey(c.Scope, "hold"), text, h.Until.Sub(now)).Err(); err != nil {
		return fmt.Errorf("holding the monitor: %w", err)
	}
	return nil
}

func (c *Control) readHold(ctx context.Context) (h Hold, err error) {
	text, err := c.Redis.Get(ctx, scopeKey(c.Scope, "hold")).Result()
	if errors.Is(err, redis.Nil) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &h)
	}
	if err != nil {
		return h, fmt.Errorf("what holds the monitor: %w", err)
	}
	return h, nil
}

// overrideQueue keeps one queue open over health pauses.
func (c *Control) overrideQueue(ctx context.Context, queue string, until time.Time) error {
	if err := c.Redis.HSet(ctx, scopeKey(c.Scope, "overrides"), queue, until.UnixMilli()).Err(); err != nil {
		return fmt.Errorf("override of %s: %w", queue, err)
	}
	return nil
}

// overrides gives the queues that stay open over health pauses, and until when.
// Those that have ended are removed.
func (c *Control) overrides(ctx context.Context, now time.Time) (map[string]time.Time, error) {
	key := scopeKey(c.Scope, "overrides")
	all, err := c.Redis.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("overrides: %w", err)
	}
	out := map[string]time.Time{}
	for queue, v := range all {
		ms, err := strconv.ParseInt(v, 10, 64)
		if until := time.UnixMilli(ms); err == nil && until.After(now) {
			out[queue] = until
			continue
		}
		if err := c.Redis.HDel(ctx, key, queue).Err(); err != nil {
			return nil, fmt.Errorf("overrides: %w", err)
		}
	}
	return out, nil
}
