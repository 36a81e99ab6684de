package limiter

import (
	"context"
	"fmt"
	"time"
)

// Reasons of what a loss of the shared state leads to (design 4.2, rule 7).
const (
	// ReasonColdStart throttles every class but the highest to half of each limit,
	// for the window in which nobody knows what was used of the minute.
	ReasonColdStart = "cold_start"
	// ReasonCounters pauses the pausable classes while limits of a day or month are
	// configured and what was used of them is lost: until a snapshot is restored
	// (scheduler) or an operator states it (Stated, CountersKnown).
	ReasonCounters = "counters"
)

const (
	ownerLimiter = "limiter"
	coldFor      = 61 * time.Second // until a slot has left its window
	coldPPM      = 500_000
)

// noticed is called with each generation of the scope that is read: another one
// than before means that Redis lost its data meanwhile.
func (r *Redis) noticed(ctx context.Context, generation string, c Config) {
	if generation == "" {
		return // nothing is written yet
	}
	before := r.generation.Swap(&generation)
	if before == nil || *before == generation {
		return
	}
	if err := r.coldStart(ctx, c); err != nil {
		r.log.Warn("Redis lost its data, and no slow start could be made", "error", err)
	}
}

// coldStart does what a loss asks for, once for all processes: whoever comes
// later finds the mark, which the next loss takes away with the rest.
func (r *Redis) coldStart(ctx context.Context, c Config) error {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	marks, err := r.rdb.HMGet(ctx, r.keys.scope[0], fieldCold, fieldKnown).Result()
	if err != nil || marks[0] != nil {
		return err
	}
	counted := c.counted() && marks[1] == nil
	now, err := r.redisNow(ctx)
	if err != nil {
		return err
	}
	for i, k := range c.Classes {
		if err := r.coldClass(ctx, i, k, counted, now); err != nil {
			return err
		}
	}
	text := "Redis lost its data: all classes but the highest start at half of each limit"
	if counted {
		text += "; bulk waits until the day's and month's counters are known again"
	}
	r.noteOrLog(ctx, Event{Kind: EventAlert, Subject: r.scope.String(), Text: text, By: ownerLimiter})
	return r.rdb.HSet(ctx, r.keys.scope[0], fieldCold, now.UnixMilli()).Err()
}

func (r *Redis) coldClass(ctx context.Context, i int, k Class, counted bool, now time.Time) error {
	if counted && k.Pausable {
		err := r.Pause(ctx, Pause{Class: k.Name, Reason: ReasonCounters, Owner: ownerLimiter, Since: now,
			Detail: "Redis lost what was used of the day and month: the scheduler's snapshot brings it back, or say it with `nightshift quota state`"})
		if err != nil {
			return err
		}
	}
	if i == 0 {
		return nil
	}
	return r.Throttle(ctx, Throttle{Class: k.Name, Reason: ReasonColdStart, Owner: ownerLimiter, Since: now,
		ToPPM: coldPPM, Until: now.Add(coldFor), Detail: "Redis lost what was used of the minute"})
}

// counted tells whether there are limits of a day or month.
func (c Config) counted() bool {
	var all []Limits
	for _, l := range c.Lanes {
		all = append(all, l.Limits)
	}
	for _, l := range c.Nodes {
		all = append(all, l)
	}
	for _, l := range all {
		if l.RPD+l.TPD+l.USDPerDay+l.USDPerMonth+l.USDTotal > 0 {
			return true
		}
	}
	return false
}

// Stated raises day and month counters of a lane's class to what an operator
// says was used, as after a loss: of limits only RPD, TPD, USDPerDay and
// USDPerMonth count. One that is not configured, or that is above both the
// configured limit and the enforced one, is a *ConfigError: counters only rise, so
// that a number too high could not be taken back.
func (r *Redis) Stated(ctx context.Context, l Lane, class string, used Limits) error {
	return r.stated(ctx, l, "", class, used)
}

// StatedNode is Stated of a node ("tenant/acme", Scope.ProjectNode), whose counters
// are its own: what a lane used is not known to it.
func (r *Redis) StatedNode(ctx context.Context, node, class string, used Limits) error {
	return r.stated(ctx, (&Config{Scope: r.scope}).laneOf(node), node, class, used)
}

func (r *Redis) stated(ctx context.Context, l Lane, node, class string, used Limits) error {
	now, err := r.redisNow(ctx)
	if err != nil {
		return err
	}
	set, err := r.read(ctx)
	if err != nil {
		return err
	}
	limits, name, whose, err := set.effective.countedOf(l, node)
	if err != nil {
		return err
	}
	s := Snapshot{Scope: r.scope, At: now}
	for _, u := range used.List() {
		if !u.Window.counted() {
			return wrong("used."+u.Name(), "is of no day or month, nor for ever: it is known again within minutes")
		}
		if !limits.has(u) {
			return wrong("used."+u.Name(), "there is no such limit for %s", whose)
		}
		most := max(limits.Get(u.Name()), set.file.Value(name, u.Name()).Value)
		if u.Amount > most {
			return wrong("used."+u.Name(), "%s is more than the limit of %s: nothing could have used that", u.amount(), Limit{u.Unit, u.Window, most}.amount())
		}
		s.Counters = append(s.Counters, Counter{Lane: l, Node: node, Class: class, Unit: u.Unit, Window: u.Window, Used: u.Amount,
			Start: r.cal.began(now, u.Window)})
	}
	return r.Restore(ctx, s)
}

// countedOf are the limits of a lane or node that is configured, its name there,
// and for people.
func (c *Config) countedOf(l Lane, node string) (limits Limits, name, whose string, err error) {
	if node != "" {
		limits, ok := c.limitsOf(node)
		if !ok {
			return limits, node, node, ErrUnknownNode
		}
		return limits, node, node, nil
	}
	at := c.laneAt(l.String())
	if at < 0 {
		return limits, l.String(), l.Model, ErrUnknownLane
	}
	return c.Lanes[at].Limits, l.String(), l.Model, nil
}

func (l Limits) has(x Limit) bool {
	for _, y := range l.List() {
		if y.Unit == x.Unit && y.Window == x.Window {
			return true
		}
	}
	return false
}

// CountersKnown says that day and month counters are right again: it lifts the
// pauses that wait for them, tells how many there were, and no process that
// notices the loss only now makes another. The event says by whom and how.
func (r *Redis) CountersKnown(ctx context.Context, by, how string) (int, error) {
	if err := r.rdb.HSet(ctx, r.keys.scope[0], fieldKnown, how).Err(); err != nil {
		return 0, fmt.Errorf("limiter: %w", err)
	}
	pauses, err := r.Pauses(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range pauses {
		if p.Reason != ReasonCounters {
			continue
		}
		if err := r.Lift(ctx, p, ReasonCounters); err != nil {
			return n, err
		}
		n++
	}
	if n > 0 {
		r.noteOrLog(ctx, Event{Kind: EventResume, Subject: r.scope.String(), By: by,
			Text: fmt.Sprintf("the counters of day and month are known again: %s", how)})
	}
	return n, nil
}
