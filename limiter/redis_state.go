package limiter

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	c, err := r.read(ctx)
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

// nodeCounters adds those of the nodes with a limit by the day or month.
func (r *Redis) nodeCounters(ctx context.Context, c Config, s *Snapshot) error {
	nodes, err := r.Nodes(ctx)
	for _, node := range nodes {
		if !c.nodePlan(node).counts() {
			continue
		}
		v, err := r.viewOf(ctx, c.laneOf(node), r.keys.node(node), node)
		if err != nil && !errors.Is(err, ErrUnknownLane) {
			return err
		}
		s.Counters = append(s.Counters, v.counters()...)
	}
	return err
}

// counts tells whether something has a limit by the day or month.
func (p plan) counts() bool {
	return slices.ContainsFunc(p.dims, func(d dim) bool { return d.window == Day || d.window == Month })
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
		_, err := r.call(ctx, restoreScript, w.lane, keys, append([]any{w.node}, list...)...)
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
	got, err := r.call(ctx, stateScript, l, keys, node)
	if err != nil {
		return laneView{}, err
	}
	v, err := readView(l, got)
	if err != nil {
		return laneView{}, fmt.Errorf("limiter: state of %s: %w", cmp.Or(node, l.String()), err)
	}
	v.plan.node = node
	return v, nil
}

// NodeState gives what a node of a path looks like now ("tenant/acme"): what all
// lanes together use of its limits. ErrUnknownNode when it has none.
func (r *Redis) NodeState(ctx context.Context, node string) (NodeState, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.read(ctx)
	if err != nil {
		return NodeState{}, err
	}
	v, err := r.viewOf(ctx, c.effective.laneOf(node), r.keys.node(node), node)
	if errors.Is(err, ErrUnknownLane) {
		return NodeState{}, ErrUnknownNode
	}
	if err != nil {
		return NodeState{}, err
	}
	return c.nodeOrigins(v.nodeState(&c.effective)), nil
}

// Nodes gives the nodes that have limits, patterns included, and of the patterns
// those that were seen of late.
func (r *Redis) Nodes(ctx context.Context) ([]string, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := r.rdb.SMembers(ctx, r.keys.seen).Result()
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	nodes := maps.Clone(c.Nodes)
	for _, node := range seen {
		if _, ok := c.limitsOf(node); !ok {
			continue
		}
		if n, err := r.rdb.Exists(ctx, r.keys.node(node)[1]).Result(); err != nil || n == 0 {
			continue
		}
		nodes[node], _ = c.limitsOf(node)
	}
	return slices.Sorted(maps.Keys(nodes)), nil
}

// arrays reads the integer arrays of an answer; the first failure sticks.
type arrays struct{ err error }

func (a *arrays) read(v any) []int64 {
	var n []int64
	if s := text(v); s != "" && a.err == nil {
		a.err = json.Unmarshal([]byte(s), &n)
	}
	return n
}

// readView reads state.lua's answer; the layouts are those of lua/base.lua.
func readView(l Lane, got reply) (laneView, error) {
	if len(got.rest) < 11 {
		return laneView{}, fmt.Errorf("short answer %v", got.rest)
	}
	var a arrays
	var names []string
	if err := json.Unmarshal([]byte(text(got.rest[2])), &names); err != nil {
		return laneView{}, err
	}
	cfg, shares, s := a.read(got.rest[0]), a.read(got.rest[1]), a.read(got.rest[3])
	permits, err := number(got.rest[6])
	if err != nil {
		return laneView{}, err
	}
	v := laneView{now: got.now, plan: readPlan(l, cfg, shares, names), permits: permits, free: a.read(got.rest[7]),
		peaks: a.read(got.rest[4])}
	reason, detail, _ := strings.Cut(text(got.rest[5]), "|")
	v.reason, v.detail = Reason(reason), detail
	a.readLearned(&v, text(got.rest[8]), got.rest[9])
	v.lowered = readLow(a.read(got.rest[10]))
	if a.err == nil {
		v.readUse(s)
		a.err = v.readClasses(got.rest[11:], &a)
	}
	return v, a.err
}

func (a *arrays) readLearned(v *laneView, kept string, inForce any) {
	if kept != "" && a.err == nil {
		a.err = json.Unmarshal([]byte(kept), &v.learned)
	}
	v.inForce(a.read(inForce))
}

// readPlan is what newPlan wrote, read back.
func readPlan(l Lane, cfg, shares []int64, names []string) plan {
	p := plan{lane: l}
	for i := 2; len(p.dims) < int(cfg[1]); i += 6 {
		d := dim{unit: Unit(cfg[i]), window: Window(cfg[i+1]), limit: cfg[i+2], inside: cfg[i+3], spread: cfg[i+4], shadow: cfg[i+5] == 1}
		for range names {
			d.shares = append(d.shares, share{floor: shares[0], guarantee: shares[1], trickle: shares[2], cap: shares[3]})
			shares = shares[4:]
		}
		p.dims = append(p.dims, d)
	}
	for i, n := range names {
		flags := cfg[len(cfg)-len(names)+i]
		p.classes = append(p.classes, Class{Name: n, Smooth: flags&1 > 0, Tickets: flags&2 > 0})
	}
	return p
}

func (v *laneView) readUse(s []int64) {
	v.header = header{last: s[0], slot: s[1], slot10: s[2], day: s[3], dayEnd: s[4], month: s[5], monthEnd: s[6],
		cool: s[7], rebased: s[8], pulled: s[9], nextPull: s[10]}
	s = s[11:]
	for range v.plan.dims {
		n := 1 + len(v.plan.classes)
		v.margins, v.use = append(v.margins, float64(s[0])), append(v.use, s[1:n])
		v.pace = append(v.pace, make([]int64, n-1))
		s = s[n:]
	}
}

func (v *laneView) readClasses(rest []any, a *arrays) error {
	dims := len(v.plan.dims)
	for i := range v.plan.classes {
		r, k, line := a.read(rest[0]), a.read(rest[1]), a.read(rest[2])
		rest = rest[3:]
		if a.err != nil {
			return a.err
		}
		v.reserve = append(v.reserve, r[1:])
		for d := range dims {
			v.pace[d][i] = k[dims+d]
		}
		for u := range NumUnits {
			if len(line) > 0 {
				v.booked[u] += line[6+u]
				v.out[u] += line[14+u]
			}
		}
	}
	if len(rest) < dims {
		return fmt.Errorf("short answer")
	}
	for d := range dims {
		n, err := number(rest[d])
		if err != nil {
			return err
		}
		v.shadowed = append(v.shadowed, n)
	}
	rest = rest[dims:]
	for i := 0; i+1 < len(rest); i += 2 {
		class, leaf, ok := strings.Cut(text(rest[i]), "|")
		if !ok || class[0] == '#' {
			continue
		}
		if f := a.read(rest[i+1]); a.err == nil {
			v.leaves = append(v.leaves, LeafState{Class: class, Leaf: leaf, Weight: f[1], Waiting: f[3], Booked: Amounts(f[8:16]), SharePPM: shareOf(f)})
		}
	}
	return a.err
}

// shareOf is a leaf's share; a leaf that an older version wrote has none.
func shareOf(leaf []int64) int64 {
	if len(leaf) < 18 {
		return million
	}
	return leaf[17]
}
