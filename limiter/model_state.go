package limiter

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// lua/state.lua and restore.lua.

// State is Redis.State on the Model's clock.
func (m *Model) State(_ context.Context, l Lane) (LaneState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return LaneState{}, err
	}
	v := n.view(t)
	v.know(m.config, m.pausesLocked(), m.throttlesLocked())
	v.breakers = m.breakersLocked()
	return m.settings.origins(v.state()), nil
}

func (n *modelLane) view(t int64) laneView {
	v := laneView{now: t, plan: n.plan, header: n.header, margins: n.squares, use: n.use,
		permits: int64(len(n.permits)), reason: n.reason, detail: n.detail, learned: n.learned, lowered: n.lowered}
	v.inForce(n.lows)
	for _, e := range n.callers {
		if e.id != "" && !e.gone(t) {
			v.inPlace = append(v.inPlace, e.view(n.classes[e.class].Name))
		}
	}
	for d := range n.plan.dims {
		v.free = append(v.free, n.oldest(d))
		x := n.plan.dims[d]
		v.shadowed = append(v.shadowed, n.shadowed[Limit{Unit: x.unit, Window: x.window}])
		pace := make([]int64, len(n.classes))
		for i, c := range n.classes {
			pace[i] = c.pace[d]
		}
		v.pace, v.peaks = append(v.pace, pace), append(v.peaks, n.peaks[d]...)
	}
	for _, c := range n.classes {
		v.reserve = append(v.reserve, c.reserve)
		if c.line != nil {
			v.booked.add(c.line.booked, 1)
			v.out.add(c.line.releasedBy, 1)
		}
		for _, f := range n.leavesOf(c.Name) {
			v.leaves = append(v.leaves, LeafState{Class: c.Name, Leaf: f.name, Weight: f.weight, Waiting: f.waiting, Booked: f.booked, SharePPM: f.share})
		}
	}
	return v
}

// NodeState is Redis.NodeState on the Model's clock.
func (m *Model) NodeState(_ context.Context, node string) (NodeState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.nodes[node] == nil {
		s, err := m.config.unseen(node, m.now)
		return m.settings.nodeOrigins(s), err
	}
	n := m.node(node, m.now.UnixMilli())
	if n == nil {
		return NodeState{}, ErrUnknownNode
	}
	return m.settings.nodeOrigins(n.view(n.header.last).nodeState(&m.config)), nil
}

// States is Redis.States on the Model's clock.
func (m *Model) States(ctx context.Context, lanes []Lane) (out []LaneState, err error) {
	for _, l := range lanes {
		switch s, err := m.State(ctx, l); {
		case err == nil:
			out = append(out, s)
		case !errors.Is(err, ErrUnknownLane):
			return nil, err
		}
	}
	return out, nil
}

// NodeStates is NodeState of several; those that nothing is known of are left out.
func (m *Model) NodeStates(ctx context.Context, nodes []string) (out []NodeState, err error) {
	for _, node := range nodes {
		switch s, err := m.NodeState(ctx, node); {
		case err == nil:
			out = append(out, s)
		case !errors.Is(err, ErrUnknownNode):
			return nil, err
		}
	}
	return out, nil
}

// Nodes is Redis.Nodes on the Model's clock.
func (m *Model) Nodes(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name, n := range m.nodes {
		if _, ok := m.config.limitsOf(name); ok && !n.closed {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// oldest gives the moment at which the oldest slot of dim d leaves; 0 for none.
func (n *modelLane) oldest(d int) int64 {
	win, now := n.plan.dims[d].window, n.header.slot
	switch win {
	case Day:
		return n.header.dayEnd
	case Month:
		return n.header.monthEnd
	case Held, Ever:
		return 0
	case TenMinutes:
		now = n.header.slot10
	}
	var used int64
	for _, u := range n.use[d] {
		used += u
	}
	if used == 0 {
		return 0
	}
	for m := now - span + 1; m < now; m++ {
		for _, c := range n.classes {
			if slot := c.slots[win][m%ring]; slot != nil && slot[d] > 0 {
				return (m + span) * win.width()
			}
		}
	}
	return (now + span) * win.width()
}

// Counters is Redis.Counters on the Model's clock.
func (m *Model) Counters(context.Context) (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Snapshot{Scope: m.scope, At: m.now, Overrides: m.settings.overrides}
	for _, l := range m.config.Lanes {
		n, t, err := m.enter(l.Lane)
		if err != nil {
			return s, err
		}
		s.Counters = append(s.Counters, n.view(t).counters()...)
	}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.node(name, m.now.UnixMilli()); n != nil {
			s.Counters = append(s.Counters, n.view(n.header.last).counters()...)
		}
	}
	return s, nil
}

// Restore is Redis.Restore on the Model's clock.
func (m *Model) Restore(_ context.Context, s Snapshot) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if next, news, _ := m.settings.broughtBack(s.Overrides); news {
		m.enforce(next)
	}
	for _, x := range s.Counters {
		if x.Node != "" {
			if n := m.node(x.Node, m.now.UnixMilli()); n != nil {
				n.restore(x)
			}
			continue
		}
		n, _, err := m.enter(x.Lane)
		if errors.Is(err, ErrUnknownLane) {
			continue
		}
		if err != nil {
			return err
		}
		n.restore(x)
	}
	return nil
}

// began is when the day, the month or the life that counts now began.
func (n *modelLane) began(w Window) int64 {
	switch w {
	case Day:
		return n.header.day
	case Month:
		return n.header.month
	}
	return 0
}

func (n *modelLane) restore(x Counter) {
	start := n.began(x.Window)
	c := n.class(x.Class)
	for d, p := range n.plan.dims {
		if c != nil && p.unit == x.Unit && p.window == x.Window && start == x.Start.UnixMilli() {
			n.use[d][c.index] = max(n.use[d][c.index], x.Used)
		}
	}
}
