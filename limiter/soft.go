package limiter

import (
	"fmt"
	"slices"
	"strings"
)

// isCap tells whether a limit is what somebody wants to spend at most: money of a
// day or month, or at all. The money of ten minutes is a rate, and the provider's.
func (l Limit) isCap() bool { return l.Unit == MicroUSD && l.Window.counted() }

// soften gives a class its part of a cap: pausable ones go to ppm of it, the others
// are told from there on. What that keeps back stands in for the floor.
func (s *share) soften(c Class, l Limit, ppm int64) {
	if !l.isCap() || l.Amount == Unlimited || ppm <= 0 || ppm >= million {
		return
	}
	s.floor, s.soft = 0, max(1, part(l.Amount, ppm))
	if !c.Pausable {
		s.soft = -s.soft
	}
}

// soft tells whether a limit of the plan has a soft part.
func (p plan) soft() bool {
	return slices.ContainsFunc(p.dims, func(d dim) bool {
		return slices.ContainsFunc(d.shares, func(s share) bool { return s.soft != 0 })
	})
}

// open is what a class may find used up at most, its own need included: the limit
// less outside, or its soft part.
func (d dim) open(class int) int64 {
	if soft := d.shares[class].soft; soft > 0 {
		return min(d.inside, soft)
	}
	return d.inside
}

// softOf is the soft part for a node's caps: a run is pausable work and nothing
// else, so that nobody would use what is kept back of its own.
func (c *Config) softOf(kind string) int64 {
	if kind == "run" {
		return 0
	}
	return c.SoftPPM
}

// MostOf is what a class may ever have of a limit in money: pausable ones the soft part
// of a day's and month's.
func (c Config) MostOf(class string, l BindingLimit) int64 {
	kind, _, _ := strings.Cut(l.Node, "/")
	for _, x := range c.Classes {
		var s share
		if s.soften(x, l.Limit, c.softOf(kind)); x.Name == class && s.soft > 0 {
			return s.soft
		}
	}
	return l.Amount
}

// stops says why a class is refused below a cap; "" where it is not.
func (c *Config) stops(q Request, d *Denied) string {
	l, _ := c.capOf(q.Lane, d.Node, d.Limiter)
	if !l.isCap() || d.Limit <= 0 || d.Limit >= l.Amount || d.Limit != part(l.Amount, c.SoftPPM) {
		return ""
	}
	return fmt.Sprintf("%s stops at %s of the cap of %s", q.Class, percent(c.SoftPPM), l.amount())
}

// capOf is a limit of a lane or of a node by its shorthand.
func (c *Config) capOf(l Lane, node, name string) (Limit, bool) {
	limits, _ := c.limitsOf(node)
	if node == "" || node == "lane" {
		at := c.laneAt(l.String())
		if at < 0 {
			return Limit{}, false
		}
		limits = c.Lanes[at].Limits
	}
	for _, x := range limits.List() {
		if x.Name() == name {
			return x, true
		}
	}
	return Limit{}, false
}
