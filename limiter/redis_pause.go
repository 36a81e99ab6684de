package limiter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Pause closes a class, a run or a queue for a reason, until p.Until or Lift. A
// pause of the same target and reason is replaced. The error is a *ConfigError
// when the pause itself is wrong.
func (r *Redis) Pause(ctx context.Context, p Pause) error {
	if err := p.check(r.scope); err != nil {
		return err
	}
	if err := r.since(ctx, &p.Since); err != nil {
		return err
	}
	return r.hold(ctx, p.field(), p.Reason, p.ends(), p.says(), jsonOf(p))
}

// Lift takes one reason to keep a target closed away; others go on. Only the
// target's Class, Run, Lane and Priority are looked at. Lifting what is not there
// is no error.
func (r *Redis) Lift(ctx context.Context, target Pause, reason string) error {
	target.Reason = reason
	if err := target.check(r.scope); err != nil {
		return err
	}
	return r.hold(ctx, target.field(), reason, 0, "", "")
}

// Resume is Lift for a class.
func (r *Redis) Resume(ctx context.Context, class, reason string) error {
	return r.Lift(ctx, Pause{Class: class}, reason)
}

// Throttle leaves a class only a share of its lanes' limits, until t.Until or
// Unthrottle. A throttle of the same class and reason is replaced. The error is a
// *ConfigError when the throttle itself is wrong.
func (r *Redis) Throttle(ctx context.Context, t Throttle) error {
	if err := t.check(); err != nil {
		return err
	}
	if err := r.since(ctx, &t.Since); err != nil {
		return err
	}
	return r.hold(ctx, t.field(), t.Reason, t.ends(), t.line(), jsonOf(t))
}

// Unthrottle lifts one reason to throttle a class; others go on.
func (r *Redis) Unthrottle(ctx context.Context, class, reason string) error {
	t := Throttle{Class: class, Reason: reason, ToPPM: million}
	if err := t.check(); err != nil {
		return err
	}
	return r.hold(ctx, t.field(), reason, 0, "", "")
}

func (r *Redis) hold(ctx context.Context, target, reason string, ends int64, line, stored string) error {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	err := pauseScript().Run(ctx, r.rdb, r.keys.scope, r.clockArg(), target, reason, ends, line, stored).Err()
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

// since fills in when something began.
func (r *Redis) since(ctx context.Context, t *time.Time) (err error) {
	if t.IsZero() {
		*t, err = r.redisNow(ctx)
	}
	return err
}

// Pauses gives what is closed now, by target and reason.
func (r *Redis) Pauses(ctx context.Context) ([]Pause, error) {
	ps, _, err := r.holds(ctx)
	return ps, err
}

// Throttles gives the throttles that hold now, by class and reason.
func (r *Redis) Throttles(ctx context.Context) ([]Throttle, error) {
	_, ts, err := r.holds(ctx)
	return ts, err
}

// holds reads what pause.lua wrote.
func (r *Redis) holds(ctx context.Context) ([]Pause, []Throttle, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	all, err := r.rdb.HGetAll(ctx, r.keys.scope[0]).Result()
	if err != nil {
		return nil, nil, fmt.Errorf("limiter: %w", err)
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		return nil, nil, err
	}
	ps, ts := []Pause{}, []Throttle{}
	for field, v := range all {
		switch {
		case strings.HasPrefix(field, fieldPause):
			ps, err = readHold(ps, v)
		case strings.HasPrefix(field, fieldThrottle):
			ts, err = readHold(ts, v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("limiter: stored as %q: %w", field, err)
		}
	}
	return holding(ps, now), slowing(ts, now), nil
}

func readHold[T any](list []T, v string) ([]T, error) {
	_, stored, _ := strings.Cut(v, "\n")
	var one T
	err := json.Unmarshal([]byte(stored), &one)
	return append(list, one), err
}

func (r *Redis) redisNow(ctx context.Context) (time.Time, error) {
	if r.opts.Now != nil {
		return r.opts.Now(), nil
	}
	t, err := r.rdb.Time(ctx).Result()
	if err != nil {
		return t, fmt.Errorf("limiter: %w", err)
	}
	return t, nil
}
