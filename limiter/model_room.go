package limiter

import "math"

// lua/room.lua.

// refusal is the rule that is against a request; dim -1: no limit binds.
type refusal struct {
	dim    int
	reason Reason
	used   int64
	short  int64
	need   int64
	ends   int64       // of smoothing
	top    int64       // the class's ceiling, where that binds; else -1
	alone  bool        // nothing is set aside beside it
	class  *modelClass // at the ledger whose limit it is
	weight int64
	detail string
}

// share gives what others use or must be left, its own use, everybody's use, and
// the limit less outside and margin.
func (n *modelLane) share(c *modelClass, d int) (others, own, all, free int64) {
	classes := len(n.classes)
	for j, u := range n.use[d] {
		all += u
		if j != c.index {
			others += max(u, c.reserve[d*classes+j])
		}
	}
	return others, n.use[d][c.index], all, n.plan.dims[d].open(c.index) - margin(n.squares[d])
}

// lacks gives what is missing for need more in dim d, 0 or less when it fits; what
// is in use; what the limit itself lacks; and the ceiling, where that is what binds.
// What callers of the classes above wait for in place is theirs.
func (n *modelLane) lacks(c *modelClass, d int, need int64, alone bool) (short, used, over, top int64) {
	others, own, all, free := n.share(c, d)
	short, over = others+n.wanted(c, d)+own+need-free, all+need-free
	if short > 0 && own+need <= c.reserve[d*len(n.classes)+c.index] {
		short = over
	}
	if top, ok := n.top(c, d); ok {
		above, passes := own+need-top, alone && own == 0 && c.least > 0
		if above > 0 && above > short && !passes {
			return above, own, 0, top
		}
	}
	return short, all, over, -1
}

// room is what the class could use of dim d, its own use included; at least 1.
func (n *modelLane) room(c *modelClass, d int) int64 {
	others, _, _, free := n.share(c, d)
	room := free - others
	if top, ok := n.top(c, d); ok {
		room = min(room, top)
	}
	return max(1, room)
}

// raisedMS is how often it is worth asking whether a limit for ever was raised.
const raisedMS = 300_000

// weight orders refusals: the rule that will hold longest is the answer.
func (d dim) weight(short int64) int64 {
	if d.window.counted() {
		return 1000000000000 * int64(d.window)
	}
	return int64(math.Floor(float64(short) * 1000000 / float64(d.inside)))
}

// fits tests amounts beside what is set aside. A limit in shadow refuses nothing.
func (n *modelLane) fits(c *modelClass, a Amounts, aside ...Amounts) *refusal {
	var worst *refusal
	most := int64(-1)
	for d, p := range n.plan.dims {
		need := a[p.unit]
		if need == 0 || p.shadow {
			continue
		}
		for _, x := range aside {
			need += x[p.unit]
		}
		alone := need == a[p.unit]
		short, used, over, top := n.lacks(c, d, need, alone)
		if short <= 0 || p.weight(short) <= most {
			continue
		}
		reason := ReasonShare
		if over > 0 {
			reason = ReasonQuota
		}
		worst, most = &refusal{dim: d, reason: reason, used: used, short: short, need: need, top: top, alone: alone, class: c, weight: p.weight(short)}, p.weight(short)
		if top >= 0 {
			worst.detail = n.tells(c, d)
		}
	}
	return worst
}

// smooth tests the class's pace, before the cost is added: no more than 1.1
// times its even use of the room, half a second before or behind.
func (n *modelLane) smooth(c *modelClass, a Amounts, t int64) *refusal {
	if !c.Smooth {
		return nil
	}
	for d, p := range n.plan.dims {
		if p.window == Minute && a[p.unit] > 0 && !p.shadow && c.pace[d] >= (t+slack)*1000 {
			return &refusal{dim: d, reason: ReasonSmoothing, used: n.use[d][c.index], need: a[p.unit], ends: c.pace[d]/1000 + 1 - slack, top: -1, class: c}
		}
	}
	return nil
}

// advance moves the class's pace on by amounts, or back.
func (n *modelLane) advance(c *modelClass, a Amounts, sign, t int64) {
	for d, p := range n.plan.dims {
		if c.Smooth && p.window == Minute && a[p.unit] > 0 && !p.shadow {
			c.pace[d] = max(c.pace[d], (t-slack)*1000) + sign*n.step(c, d, a[p.unit])
		}
	}
}

// advanceAll is advance of a class at the lane and at the nodes of a path.
func advanceAll(c *modelClass, path []*modelClass, a Amounts, sign int64) {
	for _, x := range append([]*modelClass{c}, path...) {
		x.n.advance(x, a, sign, x.n.header.last)
	}
}

// frees gives the moment at which enough slots have left dim d for need to fit.
func (n *modelLane) frees(c *modelClass, d int, need int64, alone bool) int64 {
	win := n.plan.dims[d].window
	now := n.header.slot
	if win == TenMinutes {
		now = n.header.slot10
	}
	kept := append([]int64(nil), n.use[d]...)
	defer copy(n.use[d], kept)
	for m := int64(1); m < span; m++ {
		any := false
		for j, other := range n.classes {
			if slot := other.slots[win][(now-span+m)%ring]; slot != nil && kept[j] > 0 {
				n.subtract(d, j, slot[d])
				any = any || slot[d] > 0
			}
		}
		if short, _, _, _ := n.lacks(c, d, need, alone); any && short <= 0 {
			return (now + m) * win.width()
		}
	}
	return (now + span) * win.width()
}

// when gives the moment at which a refusal by room or smoothing ends.
func (no *refusal) when(t int64) int64 {
	c := no.class
	n := c.n
	if no.reason == ReasonSmoothing {
		return no.ends
	}
	switch n.plan.dims[no.dim].window {
	case Day:
		return n.header.dayEnd
	case Month:
		return n.header.monthEnd
	case Held:
		return t + 1000
	case Ever:
		return t + raisedMS
	}
	freed := n.frees(c, no.dim, no.need, no.alone)
	if no.top >= 0 {
		if eased := n.eases(c, no.dim, no.used+no.need); eased > 0 {
			return max(t+1000, min(freed, eased))
		}
	}
	return freed
}
