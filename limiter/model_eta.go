package limiter

import "math"

// lua/line.lua: when it is a ticket's turn.

// drains gives how many ms a ledger needs for the part pos/waiting of what is
// booked, of which it leaves them the share ppm.
func (c *modelClass) drains(f *modelLeaf, pos int64, booked Amounts, share int64) (most int64) {
	for d, p := range c.n.plan.dims {
		b := booked[p.unit]
		if !p.window.sliding() || b == 0 || p.shadow {
			continue
		}
		x := float64(b) * float64(pos) / float64(f.waiting) * span * float64(p.window.width())
		x = x / float64(c.n.room(c, d)) * 1000000 / float64(share)
		most = max(most, int64(math.Min(math.Floor(x), farMS)))
	}
	return most
}

// eta gives how many ms the leaf's share of the room needs for what is booked up
// to place pos, or a node on its way for all that is booked there, or how many the
// pace of late would need.
func (m *Model) eta(c *modelClass, f *modelLeaf, pos int64) int64 {
	var most int64
	if l := c.line; l.rate > 0 {
		x := float64(pos) * 1000000 / float64(f.share) * 1000000000 / float64(l.rate)
		most = int64(math.Min(math.Floor(x), farMS))
	}
	most = max(most, c.drains(f, pos, f.booked, f.share))
	for _, nc := range m.along(c, f) {
		if nc.line != nil {
			most = max(most, nc.drains(f, pos, nc.line.booked, 1000000))
		}
	}
	return most
}

// paced gives how many ms amounts last in a ledger's room.
func (c *modelClass) paced(a Amounts) (step int64) {
	for d, p := range c.n.plan.dims {
		if p.window.sliding() && a[p.unit] > 0 && !p.shadow {
			x := float64(a[p.unit]) * span * float64(p.window.width()) / float64(c.n.room(c, d))
			step = max(step, int64(math.Min(math.Floor(x), farMS)))
		}
	}
	return step
}

// pace spreads those that come back by their own countdown while nobody pulls.
func (m *Model) pace(c *modelClass, f *modelLeaf, a Amounts, t int64) int64 {
	l := c.lineOf()
	step := c.paced(a)
	for _, nc := range m.along(c, f) {
		step = max(step, nc.paced(a))
	}
	l.pace = max(l.pace, t+1000) + step
	return l.pace
}
