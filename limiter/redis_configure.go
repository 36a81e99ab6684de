package limiter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Weights of the priorities where the configuration has none.
var priorityWeights = map[Priority]int64{High: 4, Normal: 2, Low: 1}

// PriorityWeight is a priority's weight where the configuration has none.
func PriorityWeight(p Priority) int64 { return priorityWeights[p] }

// weights are c.Weights with the priorities' defaults.
func (c Config) weights() map[string]int64 {
	w := map[string]int64{}
	for p, n := range priorityWeights {
		w["priority/"+string(p)] = n
	}
	maps.Copy(w, c.Weights)
	return w
}

// Configure writes limits, classes and weights for all processes of the scope.
// What was used stays used; a lane that is no longer named is unknown from now
// on. The error is a *ConfigError when the configuration itself is wrong.
func (r *Redis) Configure(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Scope != r.scope {
		return wrong("scope", "%s; this limiter is for %s", c.Scope, r.scope)
	}
	old, err := r.load(ctx)
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	before, err := r.writeScope(ctx, c)
	if err != nil {
		return err
	}
	r.keep(c)
	defer r.noteLimits(ctx, before, c)
	for _, l := range c.Lanes {
		cfg, cfg2, names := newPlan(l, c.Classes).fields()
		if _, err := r.call(ctx, configureScript, l.Lane, r.keys.lane(l.Lane), cfg, cfg2, names); err != nil {
			return err
		}
	}
	return r.retire(ctx, old, c)
}

// retire closes the lanes that the new configuration does not name.
func (r *Redis) retire(ctx context.Context, old, c Config) error {
	for _, l := range old.Lanes {
		if slices.ContainsFunc(c.Lanes, func(n LaneConfig) bool { return n.Lane.String() == l.Lane.String() }) {
			continue
		}
		if _, err := r.call(ctx, configureScript, l.Lane, r.keys.lane(l.Lane), "", "", ""); err != nil {
			return err
		}
	}
	return nil
}

// writeScope gives the configuration that c replaced.
func (r *Redis) writeScope(ctx context.Context, c Config) (before Config, err error) {
	args := []any{SchemaVersion, rand.Text(), jsonOf(c)}
	for name, w := range c.weights() {
		args = append(args, name, w)
	}
	got, err := scopeScript.Run(ctx, r.rdb, r.keys.scope, args...).Result()
	if err != nil {
		return before, fmt.Errorf("limiter: %w", err)
	}
	if newer, ok := got.(int64); ok {
		return before, schemaError(newer)
	}
	if s := text(got); s != "" {
		err = json.Unmarshal([]byte(s), &before)
	}
	return before, err
}

// noteLimits notes what a configuration changed. The limits are in force by then,
// so an event that is lost is only logged.
func (r *Redis) noteLimits(ctx context.Context, before, after Config) {
	events := changes(before, after)
	if len(events) == 0 {
		return
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		r.log.Warn("a change of limits is not noted", "error", err)
		return
	}
	recent, err := r.Events(ctx, now.Add(-disagreement), 0)
	for _, e := range events {
		if err == nil {
			err = r.Note(ctx, e.against(recent))
		}
	}
	if err != nil {
		r.log.Warn("a change of limits is not noted", "error", err)
	}
}

func schemaError(stored int64) error {
	return fmt.Errorf("limiter: Redis holds schema %d, this program knows %d: use the newer program", stored, SchemaVersion)
}

// load reads the configuration of the scope; a scope without one gives an empty Config.
func (r *Redis) load(ctx context.Context) (Config, error) {
	v, err := r.rdb.HMGet(ctx, r.keys.scope[0], fieldSchema, fieldConfig).Result()
	if err != nil {
		return Config{}, fmt.Errorf("limiter: %w", err)
	}
	var stored int64
	if _, err := fmt.Sscan(text(v[0]), &stored); err == nil && stored > SchemaVersion {
		return Config{}, schemaError(stored)
	}
	var c Config
	if s := text(v[1]); s != "" {
		if err := json.Unmarshal([]byte(s), &c); err != nil {
			return Config{}, fmt.Errorf("limiter: stored configuration: %w", err)
		}
		r.keep(c)
	}
	return c, nil
}

func (r *Redis) keep(c Config) {
	if c.MonthTZ != "" {
		if zone, err := time.LoadLocation(c.MonthTZ); err == nil {
			r.cal.setZone(zone)
		}
	}
	r.config.Store(&c)
}

// restore writes the configuration again after Redis lost it, or a part of it, and
// tells whether the lane is known by that.
func (r *Redis) restore(ctx context.Context, l Lane) bool {
	known := r.config.Load()
	c, err := r.load(ctx)
	if err != nil {
		return false
	}
	if c.Scope == (Scope{}) && known != nil {
		c = *known // nothing is stored: Redis came back empty
	}
	if !slices.ContainsFunc(c.Lanes, func(n LaneConfig) bool { return n.Lane.String() == l.String() }) {
		return false
	}
	r.log.Error("Redis lost limits that were stored: they are written again, use starts from nothing", "lane", l.String())
	return r.Configure(ctx, c) == nil
}

// Lanes gives the lanes that are configured, with their limits and shares.
func (r *Redis) Lanes(ctx context.Context) ([]LaneConfig, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.load(ctx)
	return c.Lanes, err
}
