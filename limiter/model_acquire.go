package limiter

import "math"

// lua/acquire.lua.

func (n *modelLane) denied(no *refusal, retry, pos int64, detail string) answer {
	a := answer{reason: no.reason, unit: -1, window: -1, used: no.used, short: no.short, retryAt: retry, position: pos, detail: detail}
	if no.dim >= 0 {
		p := n.plan.dims[no.dim]
		a.unit, a.window, a.limit = int64(p.unit), int64(p.window), p.inside
		if no.top >= 0 {
			a.limit = no.top
		}
	}
	return a
}

// closed tells whether the request may not start; ends is -1 when it is not known
// for how long, 0 when it is open.
func (m *Model) closed(n *modelLane, class, leaf string, t int64) (reason Reason, ends int64, detail string) {
	if p, ok := m.paused(n, class, leaf, t); ok {
		return ReasonPaused, p.ends(), p.says()
	}
	if n.header.cool > t {
		return n.reason, n.header.cool, n.detail
	}
	return "", 0, ""
}

// place answers a refused job that waits.
func (m *Model) place(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, no *refusal, t, ends int64, detail string) answer {
	f := m.leaf(n, c, leaf, m.rev)
	pos := int64(1)
	switch {
	case tk == nil:
		n.book(c, f, q.Ticket, q.charged())
		pos = f.waiting
	case tk.released:
		n.forward(c, f, q.Ticket, tk.amounts, t)
	default:
		pos = f.position(tk.seq)
	}
	later := 300000 + (int64(len(f.order))+pos)*7919%300000
	if no.reason == ReasonPaused && ends < 0 {
		return n.denied(no, t+ceilSecond(later), pos, detail)
	}
	from := max(t, ends)
	if no.dim >= 0 && (n.plan.dims[no.dim].window == Day || n.plan.dims[no.dim].window == Month) {
		from = n.when(c, no, t)
	}
	if tk != nil && !tk.released && t-n.header.pulled > awayMS && from == t {
		return n.denied(no, n.pace(c, tk.amounts, t), pos, detail)
	}
	wait := 2*n.eta(c, f, pos) + 3000
	if c.least < million {
		wait = min(wait, later)
	}
	return n.denied(no, from+ceilSecond(wait), pos, detail)
}

func ceilSecond(ms int64) int64 { return int64(math.Ceil(float64(ms)/1000)) * 1000 }

// turnOf tells whether a request that fits may go before those that wait.
func (m *Model) turnOf(n *modelLane, c *modelClass, a Amounts, tk *modelTicket, t int64) *refusal {
	var waits bool
	switch {
	case c.line == nil || (tk != nil && tk.released):
	case tk != nil:
		waits = t-n.header.pulled <= awayMS
	default:
		waits = m.turnsAway(n, c, a, t)
	}
	if waits {
		return &refusal{dim: -1, reason: ReasonTurn, top: -1}
	}
	return nil
}

// refuses gives the rule that is against the request now, or nil.
func (m *Model) refuses(n *modelLane, c *modelClass, a Amounts, tk *modelTicket, t int64) *refusal {
	passes := tk != nil && tk.released
	var aside Amounts
	if c.line != nil && c.line.released > 0 && !passes {
		aside = c.line.releasedBy
	}
	if no := n.fits(c, a, aside); no != nil {
		return no
	}
	if !passes {
		if no := n.smooth(c, a, t); no != nil {
			return no
		}
	}
	return m.turnOf(n, c, a, tk, t)
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

func (m *Model) grant(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, t int64) answer {
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	p := &modelPermit{class: c.Name, granted: t, expires: t + q.lease().Milliseconds(), epoch: n.header.rebased, amounts: q.charged()}
	n.permits[q.ID] = p
	n.leases["p"+q.ID] = p.expires
	n.charge(c, p.amounts)
	if tk == nil || !tk.released {
		n.advance(c, p.amounts, 1, t)
	}
	if tk != nil {
		m.admitted(n, c, leaf, q.Ticket, tk)
	}
	return answer{permit: p.permit(q)}
}

func (p *modelPermit) permit(q Request) *Permit {
	out := newPermit(q, p.granted, p.expires)
	out.Class, out.Amounts = p.class, p.amounts
	return out
}

// ticketOf gives the request's ticket and the leaf that it was booked in.
func (m *Model) ticketOf(n *modelLane, c *modelClass, q Request, t int64) (*modelTicket, string) {
	leaf := q.Path.Leaf()
	tk := n.tickets[q.Ticket]
	if tk == nil || c.line == nil {
		return nil, leaf
	}
	owner, name := n.named(tk.leaf)
	if owner == c {
		return tk, name
	}
	m.drop(n, q.Ticket, tk, t)
	return nil, leaf
}

func (m *Model) decide(n *modelLane, q Request, t int64) answer {
	c := n.class(q.Class)
	if c == nil {
		return answer{reason: reasonUnknownClass}
	}
	a := q.charged()
	for d, p := range n.plan.dims {
		if a[p.unit] > c.largest[d] {
			no := n.denied(&refusal{dim: d, reason: ReasonTooLarge, short: a[p.unit] - c.largest[d], top: -1}, 0, 0, "")
			no.limit = c.largest[d]
			return no
		}
	}
	reason, ends, detail := m.closed(n, q.Class, q.leaf(), t)
	var tk *modelTicket
	leaf, waits := "", q.Ticket != "" && c.Tickets
	if waits {
		tk, leaf = m.ticketOf(n, c, q, t)
	}
	var no *refusal
	switch {
	case q.Full:
		no, ends = &refusal{dim: -1, reason: ReasonSlots, top: -1}, 0
	case reason != "":
		no = &refusal{dim: -1, reason: reason, top: -1}
	default:
		if no = m.refuses(n, c, a, tk, t); no == nil {
			return m.grant(n, c, q, leaf, tk, t)
		}
		detail = no.detail
	}
	if q.Force && !q.Full {
		return m.forced(n, c, q, leaf, tk, t, no)
	}
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	return m.answer(n, c, q, leaf, tk, no, t, ends, detail, waits)
}

// forced grants in spite of a rule. The pace goes on by no more than a window.
func (m *Model) forced(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, t int64, no *refusal) answer {
	if p := n.permits[q.ID]; p != nil {
		return answer{permit: p.permit(q)}
	}
	a := m.grant(n, c, q, leaf, tk, t)
	for d := range c.pace {
		c.pace[d] = min(c.pace[d], (t+slack+61000)*1000)
	}
	d := n.denied(no, 0, 0, "")
	a.permit.Over = overBy(no.reason, d.unit, d.window)
	return a
}

// answer says when to come back, and keeps a place for what waits.
func (m *Model) answer(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, no *refusal, t, ends int64, detail string, waits bool) answer {
	switch {
	case waits:
		return m.place(n, c, q, leaf, tk, no, t, ends, detail)
	case ends < 0:
		return n.denied(no, t+30000, 0, detail)
	case ends > 0:
		return n.denied(no, ends, 0, detail)
	case no.dim < 0:
		return n.denied(no, t+1000, 0, "")
	}
	return n.denied(no, n.when(c, no, t), 0, detail)
}
