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
func (n *modelLane) correct(c *modelClass, p *modelPermit, epoch int64, used Amounts) {
	for d, x := range n.plan.dims {
		delta := used[x.unit] - p.amounts[x.unit]
		if delta == 0 || x.window == Held || !n.since(d, p, epoch) {
			continue
		}
		if x.window.sliding() {
			if epoch == n.header.rebased || n.before(x.window, p) {
				n.correctSlot(c, p, epoch, d, delta)
			}
			continue
		}
		start := n.began(x.window)
		if p.granted >= start {
			n.use[d][c.index] = max(0, n.use[d][c.index]+delta)
		}
	}
}

func (n *modelLane) correctSlot(c *modelClass, p *modelPermit, epoch int64, d int, delta int64) {
	win, t := n.plan.dims[d].window, n.header.last
	from, now := p.granted, n.header.slot
	if epoch != n.header.rebased {
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
func (m *Model) amend(n *modelLane, p *modelPermit, used Amounts) {
	for u := range used {
		if Unit(u) >= Concurrency || used[u] < p.amounts[u] {
			used[u] = p.amounts[u]
		}
	}
	m.charged(n, p, func(c *modelClass, epoch int64) {
		c.n.correct(c, p, epoch, used)
		if !p.lapsed {
			c.n.rescale(p, epoch, used)
		}
	})
	p.amounts = used
}

// rescale changes what an open permit adds to the margin.
func (n *modelLane) rescale(p *modelPermit, epoch int64, used Amounts) {
	for d, x := range n.plan.dims {
		if x.window != Held && n.since(d, p, epoch) {
			n.squares[d] = math.Max(0, n.squares[d]-(square(x, p.amounts[x.unit])-square(x, used[x.unit])))
		}
	}
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
	switch s.what {
	case "extend":
		if !p.lapsed {
			p.expires = t + s.lease.Milliseconds()
			n.leases["p"+s.id] = p.expires
		}
		return code, nil
	case "partial":
		m.amend(n, p, s.used)
		return code, nil
	}
	m.charged(n, p, func(c *modelClass, epoch int64) {
		c.n.correct(c, p, epoch, s.used)
		if !p.lapsed {
			c.n.give(c, p, epoch)
		}
	})
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
