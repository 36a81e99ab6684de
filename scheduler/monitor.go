package scheduler

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/health.lua
var healthLua string

var healthScript = redis.NewScript(healthLua)

// errFenced says that another process leads by now.
var errFenced = errors.New("another scheduler leads by now")

// fencedFor is how long a later leader's last look keeps an older one out: longer
// than a term of the older one can last unnoticed.
const fencedFor = 20 * time.Second

// Monitor watches the health of those who wait for answers and takes room from
// what can be paused when it is bad.
type Monitor struct {
	Control *Control
	Source  HealthSource
	Watch   Watch
	Rules   Rules
	Owner   string // names the leader in pauses and events
}

// Check names the first field that is wrong.
func (m *Monitor) Check() error {
	if err := m.Watch.Check("health", m.Control.Classes); err != nil {
		return err
	}
	return m.Rules.Check("health")
}

// Run looks again and again until the context ends. fence is the leader's: while
// a later one looks, what this one would write is refused.
func (m *Monitor) Run(ctx context.Context, fence int64) {
	repeat(ctx, m.Rules.orDefault().Every, m.Control.log(), "looking at health", func(ctx context.Context) error {
		return m.Look(ctx, fence)
	})
}

// Look looks once, decides, and puts it into force.
func (m *Monitor) Look(ctx context.Context, fence int64) error {
	c, rules := m.Control, m.Rules.orDefault()
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	old, before, err := c.readHealth(ctx)
	if err != nil {
		return err
	}
	hold, err := c.readHold(ctx)
	if err != nil {
		return err
	}
	samples, err := m.Source.Samples(ctx, now.Add(-rules.Over), now)
	if err != nil {
		return err
	}
	view, look := m.Watch.Judge(c.Classes, samples, now, rules.Over, before.Data)
	look.Hold = hold
	state, actions := rules.Decide(old, look)
	// the state first: whoever leads next goes on from it
	if err := c.writeHealth(ctx, fence, state, view); err != nil {
		return err
	}
	err = m.apply(ctx, state, now)
	for _, a := range actions {
		c.noteHealth(ctx, a.Kind, m.Owner, a.Text)
	}
	if err == nil && (old.Phase == Paused) != (state.Phase == Paused) {
		_, err = c.Reconcile(ctx) // queues follow at once
	}
	return err
}

// apply puts into force what a state asks for, for as long as a lease.
func (m *Monitor) apply(ctx context.Context, s State, now time.Time) error {
	c := m.Control
	like := limiter.Pause{Reason: ReasonHealth, Owner: m.Owner, Since: s.Since, Until: now.Add(PauseLease), Detail: s.Why}
	closed, throttles := m.Rules.asked(s, c.Classes, like)
	var pauses []limiter.Pause
	if closed {
		var err error
		if pauses, err = c.healthPauses(ctx, like, now); err != nil {
			return err
		}
	}
	return c.enforce(ctx, ReasonHealth, pauses, throttles)
}

// asked is what a state asks for the classes that can be paused: that they are closed,
// or throttles. like has what both are made with.
func (r Rules) asked(s State, classes []limiter.Class, like limiter.Pause) (closed bool, throttles []limiter.Throttle) {
	for _, k := range classes {
		if !k.Pausable {
			continue
		}
		w := s.wants(r, k)
		closed = closed || w.closed
		if w.share != (share{}) {
			throttles = append(throttles, w.share.throttle(k.Name, like))
		}
	}
	return closed, throttles
}

// throttle is the share as the limiter enforces it.
func (s share) throttle(class string, like limiter.Pause) limiter.Throttle {
	return limiter.Throttle{
		Class: class, Reason: like.Reason, Owner: like.Owner, Detail: like.Detail, Since: like.Since, Until: like.Until,
		FromPPM: s.from, ToPPM: s.to, RampFrom: s.begin, RampTo: s.end,
	}
}

func (c *Control) readHealth(ctx context.Context) (s State, v View, err error) {
	h, err := c.Redis.HMGet(ctx, scopeKey(c.Scope, "health"), "state", "view").Result()
	if err != nil {
		return s, v, fmt.Errorf("state of the monitor: %w", err)
	}
	for i, to := range []any{&s, &v} {
		text, ok := h[i].(string)
		if !ok {
			continue // nobody has looked yet
		}
		if err := json.Unmarshal([]byte(text), to); err != nil {
			return s, v, fmt.Errorf("state of the monitor: %w", err)
		}
	}
	return s, v, nil
}

func (c *Control) writeHealth(ctx context.Context, fence int64, s State, v View) error {
	state, err := json.Marshal(s)
	if err != nil {
		return err
	}
	view, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := healthScript.Run(ctx, c.Redis, []string{scopeKey(c.Scope, "health")}, fence, state, view, fencedFor.Milliseconds()).Int()
	if err != nil {
		return fmt.Errorf("state of the monitor: %w", err)
	}
	if n == 0 {
		return errFenced
	}
	return nil
}
