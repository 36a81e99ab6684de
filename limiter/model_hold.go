package limiter

import (
	"math"
	"strings"
)

// lua/hold.lua.

// paused gives the pause of a class, of a leaf's run or of its queue that holds
// longest; of equals the first.
func (m *Model) paused(n *modelLane, class, leaf string, t int64) (best Pause, held bool) {
	if len(m.pauses) == 0 {
		return best, false
	}
	ps := m.pausesLocked()
	for _, field := range n.pausedBy(class, leaf) {
		for _, p := range ps {
			if p.field() != field || ended(p.ends(), t) {
				continue
			}
			if !held || (best.ends() >= 0 && (p.ends() < 0 || p.ends() > best.ends())) {
				best, held = p, true
			}
		}
	}
	return best, held
}

// pausedBy are the targets that close a request: its class, run, lane and queue.
func (n *modelLane) pausedBy(class, leaf string) []string {
	out := []string{"p:" + class}
	run, priority := "-", "-"
	if p := strings.Split(leaf, "/"); len(p) > 1 {
		run, priority = p[len(p)-2], p[len(p)-1]
	}
	if run != "-" {
		out = append(out, "pr:"+run)
	}
	out = append(out, n.plan.lane.queue(""))
	if priority != "-" {
		out = append(out, n.plan.lane.queue(Priority(priority)))
	}
	return out
}

// turnsAway tells whether others have booked what the request would take: paused
// leaves wait for something else, and keep nobody out.
func (m *Model) turnsAway(n *modelLane, c *modelClass, a Amounts, t int64) bool {
	l := c.line
	if l == nil || l.waiting == 0 || n.fits(c, a, l.releasedBy, l.booked) == nil {
		return false
	}
	return len(m.pauses) == 0 || n.fits(c, a, l.releasedBy, m.unpaused(n, c, t)) != nil
}

// unpaused is what the class's leaves have booked, less the paused ones.
func (m *Model) unpaused(n *modelLane, c *modelClass, t int64) Amounts {
	x := c.line.booked
	for _, f := range n.leavesOf(c.Name) {
		if _, held := m.paused(n, c.Name, f.name, t); held {
			x.add(f.booked, -1)
		}
	}
	return x
}

// bind works out what throttles leave to the classes at t.
func (m *Model) bind(n *modelLane, t int64) {
	if len(m.throttles) == 0 && !n.slowed {
		return
	}
	all := m.throttlesLocked()
	n.slowed = len(all) > 0
	for _, c := range n.classes {
		c.slow, c.least, c.tells = nil, million, ""
		for _, x := range all {
			if x.Class != c.Name || ended(x.ends(), t) {
				continue
			}
			c.slow = append(c.slow, x)
			if p := x.share(t); p < c.least {
				c.least, c.tells = p, x.says()
			}
		}
	}
}

// top is the most that a class may use of dim d now, by its cap and throttles.
func (n *modelLane) top(c *modelClass, d int) (int64, bool) {
	p := n.plan.dims[d]
	top := p.shares[c.index].cap
	if c.tells == "" || !p.window.sliding() {
		return top, top > 0
	}
	if slowed := part(p.inside, c.least); top == 0 || slowed < top {
		top = slowed
	}
	return top, true
}

// tells says whose word top is.
func (n *modelLane) tells(c *modelClass, d int) string {
	most := n.plan.dims[d].shares[c.index].cap
	if top, _ := n.top(c, d); most > 0 && top == most {
		return "cap of " + c.Name
	}
	return c.tells
}

// eases is the first moment at which the class's throttles leave need of dim d; 0
// when nobody knows.
func (n *modelLane) eases(c *modelClass, d int, need int64) (at int64) {
	p := n.plan.dims[d]
	if top := p.shares[c.index].cap; top > 0 && need > top {
		return 0
	}
	ppm := int64(math.Ceil(float64(need) * million / float64(p.inside)))
	for _, x := range c.slow {
		if x.share(n.header.last) >= ppm {
			continue
		}
		one := x.eases(ppm)
		if one == 0 {
			return 0
		}
		at = max(at, one)
	}
	return at
}
