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
	return others, n.use[d][c.index], all, n.plan.dims[d].inside - margin(n.squares[d])
}

// lacks gives what is missing for need more in dim d; 0 or less when it fits.
func (n *modelLane) lacks(c *modelClass, d int, need int64) (short, used, over int64) {
	others, own, all, free := n.share(c, d)
	short = others + own + need - free
	if short > 0 && own+need <= c.reserve[d*len(n.classes)+c.index] {
		short = all + need - free
	}
	return short, all, all + need - free
}

// weight orders refusals: the rule that will hold longest is the answer.
func (d dim) weight(short int64) int64 {
	if d.window == Month || d.window == Day {
		return 1000000000000 * int64(d.window)
	}
	return int64(math.Floor(float64(short) * 1000000 / float64(d.inside)))
}

// fits tests amounts beside what is set aside.
func (n *modelLane) fits(c *modelClass, a Amounts, aside ...Amounts) *refusal {
	var worst *refusal
	most := int64(-1)
	for d, p := range n.plan.dims {
		need := a[p.unit]
		if need == 0 {
			continue
		}
		for _, x := range aside {
			need += x[p.unit]
		}
		short, used, over := n.lacks(c, d, need)
		if short <= 0 || p.weight(short) <= most {
			continue
		}
		reason := ReasonShare
		if over > 0 {
			reason = ReasonQuota
		}
		worst, most = &refusal{d, reason, used, short, need}, p.weight(short)
	}
	return worst
}

// smooth tests the last five seconds before the cost is added.
func (n *modelLane) smooth(c *modelClass, a Amounts, aside Amounts) *refusal {
	if !c.Smooth {
		return nil
	}
	for d, p := range n.plan.dims {
		if p.window != Minute || a[p.unit] == 0 {
			continue
		}
		others, _, _, free := n.share(c, d)
		most := int64(math.Floor(float64(free-others) * 25 / 244))
		last := c.last[d] + aside[p.unit]
		if last > 0 && last >= most {
			return &refusal{d, ReasonSmoothing, last, last - most + 1, last}
		}
	}
	return nil
}

func (n *modelLane) eases(last, short int64) int64 {
	slots := int64(math.Ceil(float64(short) * brisk / float64(last)))
	return (n.header.slot + min(slots, brisk)) * 500
}

// frees gives the moment at which enough slots have left dim d for need to fit.
func (n *modelLane) frees(c *modelClass, d int, need int64) int64 {
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
		if short, _, _ := n.lacks(c, d, need); any && short <= 0 {
			return (now + m) * win.width()
		}
	}
	return (now + span) * win.width()
}

// when gives the moment at which a refusal by room or smoothing ends.
func (n *modelLane) when(c *modelClass, no *refusal, t int64) int64 {
	if no.reason == ReasonSmoothing {
		return n.eases(no.used, no.short)
	}
	switch n.plan.dims[no.dim].window {
	case Day:
		return n.header.dayEnd
	case Month:
		return n.header.monthEnd
	case Held:
		return t + 1000
	}
	return n.frees(c, no.dim, no.need)
}
