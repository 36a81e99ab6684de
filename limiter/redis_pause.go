package limiter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Cool lets a lane rest for d: the provider said so. The longest rest wins, and
// reason and detail are those of that one.
func (r *Redis) Cool(ctx context.Context, l Lane, d time.Duration, reason Reason, detail string) error {
	if d <= 0 {
		return nil
	}
	ms := (d + time.Millisecond - 1) / time.Millisecond
	_, err := r.call(ctx, coolScript, l, r.lane(l).keys, int64(ms), string(cmp.Or(reason, ReasonCooldown)), oneLine(detail))
	return err
}

// Pause closes a class for a reason, until p.Until or Resume. A pause of the
// same class and reason is replaced.
func (r *Redis) Pause(ctx context.Context, p Pause) error {
	if err := p.check(); err != nil {
		return err
	}
	return r.pause(ctx, p.Class, p.Reason, p.ends(), p.says(), jsonOf(p))
}

// Resume lifts one reason to keep a class closed; others go on.
func (r *Redis) Resume(ctx context.Context, class, reason string) error {
	return r.pause(ctx, class, reason, 0, "", "")
}

func (r *Redis) pause(ctx context.Context, class, reason string, ends int64, says, stored string) error {
	err := pauseScript.Run(ctx, r.rdb, r.keys.scope, r.clockArg(), class, reason, ends, says, stored).Err()
	if err != nil {
		return fmt.Errorf("limiter: %w", err)
	}
	return nil
}

func (p Pause) check() error {
	if err := checkName("pause.class", p.Class); err != nil {
		return err
	}
	return checkName("pause.reason", p.Reason)
}

func (p Pause) ends() int64 {
	if p.Until.IsZero() {
		return -1
	}
	return p.Until.UnixMilli()
}

// says is what a refusal shows: reason, owner, detail.
func (p Pause) says() string {
	s := p.Reason
	if p.Owner != "" {
		s += " by " + p.Owner
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	return oneLine(s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Pauses gives what is closed now, by class and reason.
func (r *Redis) Pauses(ctx context.Context) ([]Pause, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	all, err := r.rdb.HGetAll(ctx, r.keys.scope[0]).Result()
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		return nil, err
	}
	out := []Pause{}
	for field, v := range all {
		if _, _, ok := pauseField(field); !ok {
			continue
		}
		_, stored, _ := strings.Cut(v, "\n")
		var p Pause
		if err := json.Unmarshal([]byte(stored), &p); err != nil {
			return nil, fmt.Errorf("limiter: stored pause %s: %w", field, err)
		}
		out = append(out, p)
	}
	return holding(out, now), nil
}

// holding leaves out what has ended, and sorts.
func holding(ps []Pause, now time.Time) []Pause {
	ps = slices.DeleteFunc(ps, func(p Pause) bool { return !p.Until.IsZero() && !p.Until.After(now) })
	slices.SortFunc(ps, func(a, b Pause) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Reason, b.Reason))
	})
	return ps
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
