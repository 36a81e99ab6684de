package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"
)

const (
	learnEvery = time.Minute
	// floorsLast is how long learned floors hold without being renewed: with no
	// scheduler there, everything falls back to the configured ones.
	floorsLast = 10 * time.Minute
)

// Learner learns from what was counted what each class needs of each lane by hour
// of the week, and sets the floors of lanes that lend "auto" by it.
type Learner struct {
	Control *Control
	Source  UsageSource
	Zone    *time.Location // of the hours of the week; nil is UTC
	Owner   string

	hours *hourStore      // only Look's
	told  map[useKey]bool // classes of which it was noted that their week is known; only Look's
}

// Look learns what is new, and sets the floors of now.
func (l *Learner) Look(ctx context.Context) error {
	now, err := l.Control.now(ctx)
	if err != nil {
		return err
	}
	if l.hours == nil {
		l.hours, l.told = &hourStore{Control: l.Control, source: l.Source}, map[useKey]bool{}
	}
	if err := l.hours.catchUp(ctx, now); err != nil {
		return err
	}
	c, err := l.Control.Limiter.Effective(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, lane := range c.Lanes {
		if lane.Lend == "auto" || lane.Lend == "" {
			errs = append(errs, l.lane(ctx, lane.Lane, c.Classes, now))
		}
	}
	return errors.Join(errs...)
}

// lane sets one lane's floors. One of which no class's week is known keeps what
// it has: that ends by itself.
func (l *Learner) lane(ctx context.Context, lane limiter.Lane, classes []limiter.Class, now time.Time) error {
	profiles := map[string]*profile{}
	for _, c := range classes {
		p := newProfile(l.zone(), l.hours.done, l.hours.of(keyOf(lane, c.Name)))
		if c.GuaranteePPM > 0 && p.known() {
			profiles[c.Name] = p
			l.tell(ctx, lane, c)
		}
	}
	if len(profiles) == 0 {
		return nil
	}
	state, err := l.Control.Limiter.State(ctx, lane)
	if err != nil {
		return err
	}
	return l.Control.Limiter.SetFloors(ctx, lane, floorsFor(state.Limits, classes, profiles, now), now.Add(floorsLast))
}

// floorsFor are the floors of now of the classes that have a profile.
func floorsFor(limits []limiter.LimitState, classes []limiter.Class, profiles map[string]*profile, now time.Time) (floors []limiter.Floor) {
	for _, limit := range limits {
		for _, c := range classes {
			if p := profiles[c.Name]; p != nil {
				if f, ok := p.floorFor(c, limit, now); ok {
					floors = append(floors, f)
				}
			}
		}
	}
	return floors
}

func (l *Learner) zone() *time.Location {
	if l.Zone == nil {
		return time.UTC
	}
	return l.Zone
}

// tell notes once, whichever process it is, that a class's week is known.
func (l *Learner) tell(ctx context.Context, lane limiter.Lane, c limiter.Class) {
	k := keyOf(lane, c.Name)
	if l.told[k] {
		return
	}
	first, err := l.Control.Redis.HSetNX(ctx, l.hours.key(), "known:"+k.String(), hourStart(l.hours.done).UTC().Format(time.RFC3339)).Result()
	if err != nil {
		return // the next look tells
	}
	l.told[k] = true
	if first {
		l.Control.noteSubject(ctx, limiter.EventLimits, lane.String(), l.Owner, fmt.Sprintf(
			"a week of %s traffic is known on %s: what is kept free for it follows the hours of the week from now on", c.Name, lane.Model))
	}
}
