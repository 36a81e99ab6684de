package scheduler

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/hookadd.lua
var hookAddLua string

var hookAddScript = redis.NewScript(hookAddLua)

// notifyPrefix begins the names of hooks that belong to one run.
const notifyPrefix = "notify:"

// Notify sets whom to tell of one run beside the configured hooks; none takes them
// away. Only addresses: whoever may enqueue gives no commands to the scheduler's machine.
// The error is a *ConfigError where one is wrong.
func (c *Control) Notify(ctx context.Context, run string, hooks []Hook) error {
	for i := range hooks {
		if hooks[i].Command != "" {
			return &ConfigError{"run", "commands are run by the scheduler's own configuration, or by the process that waits for the run"}
		}
		if err := hooks[i].Check(); err != nil {
			return err
		}
		hooks[i].Name = notifyPrefix + run + ":" + strconv.Itoa(i)
	}
	if len(hooks) == 0 {
		return c.Redis.HDel(ctx, scopeKey(c.Scope, "notify"), run).Err()
	}
	text, err := json.Marshal(hooks)
	if err != nil {
		return err
	}
	if err := c.Redis.HSet(ctx, scopeKey(c.Scope, "notify"), run, text).Err(); err != nil {
		return fmt.Errorf("whom to tell of run %s: %w", run, err)
	}
	return nil
}

// notified are a run's own hooks.
func (c *Control) notified(ctx context.Context, run string) (hooks []Hook, err error) {
	text, err := c.Redis.HGet(ctx, scopeKey(c.Scope, "notify"), run).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("whom to tell of run %s: %w", run, err)
	}
	return hooks, json.Unmarshal([]byte(text), &hooks)
}

// hookNamed finds a hook among the configured ones and those of runs.
func (c *Control) hookNamed(ctx context.Context, configured []Hook, name string) (Hook, bool, error) {
	all := configured
	if rest, ok := strings.CutPrefix(name, notifyPrefix); ok {
		run, _, _ := strings.Cut(rest, ":")
		own, err := c.notified(ctx, run)
		if err != nil {
			return Hook{}, false, err
		}
		all = own
	}
	i := slices.IndexFunc(all, func(h Hook) bool { return h.Name == name })
	if i < 0 {
		return Hook{}, false, nil
	}
	return all[i], true, nil
}

func (c *Control) deliveryKeys() []string {
	return []string{scopeKey(c.Scope, "runevents"), scopeKey(c.Scope, "deliveries"), scopeKey(c.Scope, "due")}
}

// fanOut makes deliveries of the events that were told.
func (c *Control) fanOut(ctx context.Context, configured []Hook, now time.Time) error {
	events, err := c.Redis.LRange(ctx, scopeKey(c.Scope, "runevents"), 0, 99).Result()
	if err != nil {
		return fmt.Errorf("events of runs: %w", err)
	}
	for _, text := range events {
		if err := c.addDeliveries(ctx, configured, text, now); err != nil {
			return err
		}
	}
	return nil
}

func (c *Control) addDeliveries(ctx context.Context, configured []Hook, text string, now time.Time) error {
	args := []any{text, now.UnixMilli()}
	var e RunEvent
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		c.log().Error("an event of a run cannot be read and is dropped", "err", err)
	} else {
		own, err := c.notified(ctx, e.Run)
		if err != nil {
			return err
		}
		for _, h := range slices.Concat(configured, own) {
			if !h.wants(e.Kind) {
				continue
			}
			d := newDelivery(h.Name, e, now)
			record, err := json.Marshal(d)
			if err != nil {
				return err
			}
			args = append(args, d.ID, record)
		}
	}
	if err := hookAddScript.Run(ctx, c.Redis, c.deliveryKeys(), args...).Err(); err != nil {
		return fmt.Errorf("deliveries: %w", err)
	}
	return nil
}

// Deliveries are all that are on their way, by when they are due next.
func (c *Control) Deliveries(ctx context.Context) ([]Delivery, error) {
	return c.deliveries(ctx, "+inf", 1000)
}

func (c *Control) deliveries(ctx context.Context, until string, n int64) ([]Delivery, error) {
	keys := c.deliveryKeys()
	ids, err := c.Redis.ZRangeByScore(ctx, keys[2], &redis.ZRangeBy{Min: "-inf", Max: until, Count: n}).Result()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	texts, err := c.Redis.HMGet(ctx, keys[1], ids...).Result()
	if err != nil {
		return nil, err
	}
	var out []Delivery
	for i, t := range texts {
		var d Delivery
		if s, ok := t.(string); !ok || json.Unmarshal([]byte(s), &d) != nil {
			c.Redis.ZRem(ctx, keys[2], ids[i]) // it was delivered, and the process ended between
			continue
		}
		out = append(out, d)
	}
	return out, nil
}

// DueNow has every delivery that failed before made again at the next look.
func (c *Control) DueNow(ctx context.Context) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	all, err := c.Deliveries(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.Failed == "" || !d.Next.After(now) {
			continue
		}
		d.Next = now
		if err := c.put(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// put keeps a delivery until its next attempt.
func (c *Control) put(ctx context.Context, d Delivery) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	keys := c.deliveryKeys()
	if err := c.Redis.HSet(ctx, keys[1], d.ID, text).Err(); err != nil {
		return err
	}
	return c.Redis.ZAdd(ctx, keys[2], redis.Z{Score: float64(d.Next.UnixMilli()), Member: d.ID}).Err()
}

// drop forgets a delivery. The id goes last: without its record it is tidied up.
func (c *Control) drop(ctx context.Context, d Delivery) error {
	keys := c.deliveryKeys()
	if err := c.Redis.HDel(ctx, keys[1], d.ID).Err(); err != nil {
		return err
	}
	return c.Redis.ZRem(ctx, keys[2], d.ID).Err()
}
