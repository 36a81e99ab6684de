package limiter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// State gives what a lane looks like now. It brings the lane's sums up to date,
// and changes nothing else.
func (r *Redis) State(ctx context.Context, l Lane) (LaneState, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	v, err := r.view(ctx, l)
	if err != nil {
		return LaneState{}, err
	}
	pauses, throttles, err := r.holds(ctx)
	if err != nil {
		return LaneState{}, err
	}
	if v.breakers, err = r.Breakers(ctx); err != nil {
		return LaneState{}, err
	}
	c, err := r.look(ctx)
	v.know(c.effective, pauses, throttles)
	return c.origins(v.state()), err
}

// Counters gives the day's and month's use of all lanes.
func (r *Redis) Counters(ctx context.Context) (Snapshot, error) {
	c, err := r.read(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	now, err := r.redisNow(ctx)
	s := Snapshot{Scope: r.scope, At: now, Overrides: c.overrides}
	for _, l := range c.effective.Lanes {
		var v laneView
		if v, err = r.view(ctx, l.Lane); err != nil {
			break
		}
		s.Counters = append(s.Counters, v.counters()...)
	}
	if err != nil {
		return s, err
	}
	return s, r.nodeCounters(ctx, c.effective, &s)
}

// Restore raises day and month counters to what a snapshot holds, where its day
// or month still lasts, and sets what was set over the configuration and is not
// set now. Lanes and nodes that have no limits are passed over.
func (r *Redis) Restore(ctx context.Context, s Snapshot) error {
	if err := r.bringBack(ctx, s.Overrides); err != nil {
		return err
	}
	type whose struct {
		lane Lane
		node string
	}
	args := map[whose][]any{}
	for _, c := range s.Counters {
		w := whose{c.Lane, c.Node}
		args[w] = append(args[w], c.Class, int(c.Unit), int(c.Window), c.Start.UnixMilli(), c.Used)
	}
	for w, list := range args {
		if w.lane.Scope() != r.scope {
			continue
		}
		keys := r.keys.lane(w.lane)
		if w.node != "" {
			keys = r.keys.node(w.node)
		}
		_, err := r.call(ctx, restoreScript(), w.lane, keys, append([]any{w.node}, list...)...)
		if err != nil && !errors.Is(err, ErrUnknownLane) {
			return err
		}
	}
	return nil
}

func (r *Redis) view(ctx context.Context, l Lane) (laneView, error) {
	return r.viewOf(ctx, l, r.lane(l).keys, "")
}

func (r *Redis) viewOf(ctx context.Context, l Lane, keys []string, node string) (laneView, error) {
	got, err := r.call(ctx, stateScript(), l, keys, node)
	if err != nil {
		return laneView{}, err
	}
	return viewFrom(viewAsk{l, keys, node}, got)
}

func viewFrom(a viewAsk, got reply) (laneView, error) {
	v, err := readView(a.lane, got)
	if err != nil {
		return laneView{}, fmt.Errorf("limiter: state of %s: %w", cmp.Or(a.node, a.lane.String()), err)
	}
	v.plan.node = a.node
	return v, nil
}

func (a *arrays) readLearned(v *laneView, kept string, inForce any) {
	if kept != "" && a.err == nil {
		a.err = json.Unmarshal([]byte(kept), &v.learned)
	}
	v.inForce(a.read(inForce))
}
