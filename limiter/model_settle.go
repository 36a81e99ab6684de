package limiter

import "math"

// lua/settle.lua.

// owner gives the class that a permit is charged to: the lowest, if its own was removed.
func (n *modelLane) owner(name string) *modelClass {
	if c := n.class(name); c != nil {
		return c
	}
	return n.classes[len(n.classes)-1]
}

// correct adds deltas where the permit was charged. A window that has turned
// since is left alone, and no slot gives back more than it holds.
func (n *modelLane) correct(c *modelClass, p *modelPermit, used Amounts, t int64) {
	for d, x := range n.plan.dims {
		delta := used[x.unit] - p.amounts[x.unit]
		if delta == 0 || x.window == Held {
			continue
		}
		if x.window.sliding() {
			n.correctSlot(c, p, d, delta, t)
			continue
		}
		start := n.header.day
		if x.window == Month {
			start = n.header.month
		}
		if p.granted >= start {
			n.use[d][c.index] = max(0, n.use[d][c.index]+delta)
		}
	}
}

func (n *modelLane) correctSlot(c *modelClass, p *modelPermit, d int, delta, t int64) {
	win := n.plan.dims[d].window
	from, now := p.granted, n.header.slot
	if p.epoch != n.header.rebased {
		from = n.header.rebased
	}
	if win == TenMinutes {
		now = n.header.slot10
	}
	if c.Smooth && win == Minute && c.pace[d] > 0 && from > t-61000 {
		c.pace[d] += sign(delta) * n.step(c, d, max(delta, -delta))
	}
	slot := from / win.width()
	var place *int64
	switch {
	case slot >= now:
		place = &c.open[d]
	case slot > now-span:
		v := &c.slots[win][slot%ring]
		if *v == nil {
			*v = make([]int64, len(n.plan.dims))
		}
		place = &(*v)[d]
	default:
		return
	}
	delta = max(delta, -*place)
	*place += delta
	n.use[d][c.index] = max(0, n.use[d][c.index]+delta)
}

// amend corrects a permit that stays open; usage so far only ever raises a charge.
func (n *modelLane) amend(c *modelClass, p *modelPermit, used Amounts, t int64) {
	for u := range used {
		if Unit(u) >= Concurrency || used[u] < p.amounts[u] {
			used[u] = p.amounts[u]
		}
	}
	n.correct(c, p, used, t)
	for d, x := range n.plan.dims {
		if !p.lapsed && x.window != Held {
			n.squares[d] = math.Max(0, n.squares[d]-(square(x, p.amounts[x.unit])-square(x, used[x.unit])))
		}
	}
	p.amounts = used
}

func (m *Model) settle(l Lane, s settlement) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return 0, err
	}
	p := n.permits[s.id]
	if p == nil {
		return 0, nil
	}
	code := int64(1)
	if p.lapsed {
		code = 2
	}
	c := n.owner(p.class)
	switch s.what {
	case "extend":
		if !p.lapsed {
			p.expires = t + s.lease.Milliseconds()
			n.leases["p"+s.id] = p.expires
		}
		return code, nil
	case "partial":
		n.amend(c, p, s.used, t)
		return code, nil
	}
	n.correct(c, p, s.used, t)
	if !p.lapsed {
		n.give(c, p)
	}
	delete(n.permits, s.id)
	delete(n.leases, "p"+s.id)
	return code, nil
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}
