package limiter

import (
	"cmp"
	"math"
)

// lua/acquire.lua.

// closed tells whether the request may not start; ends is -1 when it is not known
// for how long, 0 when it is open. Of breakers it leaves half open those that the
// next request looks at.
func (m *Model) closed(n *modelLane, class, leaf string, t int64) (reason Reason, ends int64, detail string) {
	n.half = nil
	if p, ok := m.paused(n, class, leaf, t); ok {
		return ReasonPaused, p.ends(), p.says()
	}
	if reason, ends, detail, n.half = m.tripped(n.plan.lane.short(), t); reason != "" {
		return reason, ends, detail
	}
	if n.header.cool > t {
		return n.reason, n.header.cool, n.detail
	}
	return "", 0, ""
}

func ceilSecond(ms int64) int64 { return int64(math.Ceil(float64(ms)/1000)) * 1000 }

// turnOf tells whether a request that fits may go before those that wait.
func (m *Model) turnOf(n *modelLane, c *modelClass, path []*modelClass, a Amounts, tk *modelTicket, t int64) *refusal {
	waits := false
	switch {
	case tk != nil && tk.released:
	case tk != nil:
		waits = t-n.header.pulled <= awayMS
	default:
		waits = m.turnsAway(n, c, a, t)
		for _, nc := range path {
			l := nc.line
			waits = waits || l != nil && l.waiting > 0 && nc.n.fits(nc, a, l.releasedBy, l.booked) != nil
		}
	}
	if waits {
		return &refusal{dim: -1, reason: ReasonTurn, top: -1}
	}
	return nil
}

// rule gives the rule of one ledger that is against the request now, or nil. Callers
// who wait before it at this ledger come first.
func (c *modelClass) rule(a Amounts, released bool, at place) *refusal {
	var aside Amounts
	if c.line != nil && c.line.released > 0 && !released {
		aside = c.line.releasedBy
	}
	no := c.n.fits(c, a, aside)
	ahead, before := at.ahead[c.n.plan.node]
	if no == nil && before {
		if no = c.n.fits(c, a, aside, ahead); no != nil {
			no.reason = ReasonTurn
		}
	}
	if no == nil && !released {
		no = c.n.smooth(c, a, c.n.header.last)
	}
	if no == nil && before && c.Smooth {
		no = &refusal{dim: -1, reason: ReasonTurn, top: -1, class: c}
	}
	return no
}

// refuses gives the rule that is against the request now, or nil: of several
// ledgers' the one that will hold longest.
func (m *Model) refuses(n *modelLane, c *modelClass, path []*modelClass, a Amounts, tk *modelTicket, at place, t int64) *refusal {
	released := tk != nil && tk.released
	no := c.rule(a, released, at)
	for _, nc := range path {
		if x := nc.rule(a, released, at); x != nil && (no == nil || x.weight > no.weight) {
			no = x
		}
	}
	if no != nil {
		return no
	}
	return m.turnOf(n, c, path, a, tk, t)
}

func (n *modelLane) charge(c *modelClass, a Amounts) {
	for d, p := range n.plan.dims {
		amount := a[p.unit]
		if amount == 0 {
			continue
		}
		n.use[d][c.index] += amount
		if p.window.sliding() {
			c.open[d] += amount
			n.squares[d] += square(p, amount)
		}
	}
}

func (m *Model) grant(n *modelLane, c *modelClass, path []*modelClass, q Request, leaf string, tk *modelTicket, at place, t int64) answer {
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	p := &modelPermit{class: c.Name, granted: t, expires: t + q.lease().Milliseconds(), epoch: n.header.rebased, amounts: q.charged()}
	for _, nc := range path {
		p.nodes, p.epochs = append(p.nodes, nc.n.plan.node), append(p.epochs, nc.n.header.rebased)
	}
	n.permits[q.ID] = p
	n.leases["p"+q.ID] = p.expires
	out := p.permit(q)
	if n.half != nil && !q.Force {
		look(n.half, n.plan.lane.short(), q.ID, t, p.expires)
		out.Probe = true
	}
	for _, x := range append([]*modelClass{c}, path...) {
		out.Shadow = append(out.Shadow, x.shadows(p.amounts)...)
		out.Soft = join(out.Soft, x.softened(p.amounts))
		x.n.charge(x, p.amounts)
	}
	if tk == nil || !tk.released {
		advanceAll(c, path, p.amounts, 1)
		if c.line != nil {
			c.line.passed++
		}
	}
	if tk != nil {
		m.admitted(n, c, leaf, q.Ticket, tk)
	}
	if len(n.callers) > 0 && at.looked {
		m.served(n, c, q, at)
	}
	return answer{permit: out}
}

// shadows notes which limits in shadow would have refused, and gives them.
func (c *modelClass) shadows(a Amounts) (out []string) {
	for d, p := range c.n.plan.dims {
		if !p.shadow || a[p.unit] == 0 {
			continue
		}
		if short, _, _, _ := c.n.lacks(c, d, a[p.unit], true); short > 0 {
			l := Limit{Unit: p.unit, Window: p.window}
			c.n.shadowed[l]++
			out = append(out, cmp.Or(c.n.plan.node, "lane")+" "+l.Name())
		}
	}
	return out
}

func (p *modelPermit) permit(q Request) *Permit {
	out := newPermit(q, p.granted, p.expires)
	out.Class, out.Amounts = p.class, p.amounts
	return out
}

// ticketOf gives the request's ticket and the leaf that it was booked in.
func (m *Model) ticketOf(n *modelLane, c *modelClass, q Request) (*modelTicket, string) {
	leaf := q.Path.Leaf()
	tk := n.tickets[q.Ticket]
	if tk == nil {
		return nil, leaf
	}
	owner, name := n.named(tk.leaf)
	if owner == c {
		return tk, name
	}
	m.drop(n, q.Ticket, tk)
	return nil, leaf
}

// larger refuses for good what some ledger could never take.
func larger(c *modelClass, path []*modelClass, a Amounts) (answer, bool) {
	for _, x := range append([]*modelClass{c}, path...) {
		for d, p := range x.n.plan.dims {
			if a[p.unit] > x.largest[d] && !p.shadow {
				no := &refusal{dim: d, reason: ReasonTooLarge, short: a[p.unit] - x.largest[d], top: -1, class: x}
				out := no.denied(0, 0, "")
				out.limit = x.largest[d]
				return out, true
			}
		}
	}
	return answer{}, false
}

func (m *Model) decide(n *modelLane, q Request, t int64) answer {
	c := n.class(q.Class)
	if c == nil {
		return answer{reason: reasonUnknownClass}
	}
	a, path := q.charged(), m.path(n, m.config.nodesOf(q.Path, q.Feature), q.Class, t)
	if out, ok := larger(c, path, a); ok {
		return out
	}
	reason, ends, detail := m.closed(n, q.Class, q.Path.Leaf(), t)
	var tk *modelTicket
	leaf, waits := "", q.Ticket != "" && c.Tickets
	if waits {
		tk, leaf = m.ticketOf(n, c, q)
	}
	var at place
	if !c.Tickets && (q.waitMS() > 0 || n.anyone(c)) {
		at = m.lookAround(n, c, q)
	}
	var no *refusal
	switch {
	case q.Full:
		no, ends = &refusal{dim: -1, reason: ReasonSlots, top: -1}, 0
	case reason != "":
		no = &refusal{dim: -1, reason: reason, top: -1}
	default:
		if no = m.refuses(n, c, path, a, tk, at, t); no == nil && q.ask {
			return answer{permit: newPermit(q, t, t)}
		} else if no == nil {
			return m.grant(n, c, path, q, leaf, tk, at, t)
		}
		detail = no.detail
	}
	if q.Force && !q.Full {
		return m.forced(n, c, path, q, leaf, tk, at, t, no)
	}
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	if q.waitMS() > 0 && !c.Tickets {
		return m.standHere(n, c, q, at, no, t, ends, detail)
	}
	return m.answer(n, c, q, leaf, tk, no, t, ends, detail, waits)
}

// forced grants in spite of a rule. The pace goes on by no more than a window.
func (m *Model) forced(n *modelLane, c *modelClass, path []*modelClass, q Request, leaf string, tk *modelTicket, at place, t int64, no *refusal) answer {
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	a := m.grant(n, c, path, q, leaf, tk, at, t)
	for _, x := range append([]*modelClass{c}, path...) {
		for d := range x.pace {
			if x.Smooth {
				x.pace[d] = min(x.pace[d], (t+slack+61000)*1000)
			}
		}
	}
	d := no.denied(0, 0, "")
	a.permit.Over = overBy(no.reason, d.node, d.unit, d.window)
	return a
}
