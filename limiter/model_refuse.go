package limiter

// lua/acquire.lua: what a refusal says.

func (no *refusal) denied(retry, pos int64, detail string) answer {
	a := answer{reason: no.reason, unit: -1, window: -1, used: no.used, short: no.short, retryAt: retry, position: pos, detail: detail}
	if no.dim >= 0 {
		at := no.class.n
		p := at.plan.dims[no.dim]
		a.node, a.uses = at.plan.node, jsonOf(at.use[no.dim])
		a.unit, a.window, a.limit = int64(p.unit), int64(p.window), p.open(no.class.index)
		if no.top >= 0 {
			a.limit = no.top
		}
	}
	return a
}

// place answers a refused job that waits.
func (m *Model) place(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, no *refusal, t, ends int64, detail string) answer {
	f := m.leaf(n, c, leaf, m.rev, &q)
	pos := int64(1)
	switch {
	case tk == nil:
		m.book(n, c, f, q.Ticket, q.charged())
		pos = f.waiting
	case tk.released:
		m.forward(n, c, f, q.Ticket, tk.amounts, min(tk.seq, -1))
	default:
		pos = f.position(tk.seq)
	}
	later := 300000 + (int64(len(f.order))+pos)*7919%300000
	if no.reason == ReasonPaused && ends < 0 || no.forEver() { // until somebody lifts it
		return no.denied(t+ceilSecond(later), m.stays(n, q, later == 0, pos), detail)
	}
	first, _, rest := m.turnsBefore(c, f, pos)
	from := max(t, ends, first)
	if no.turns() {
		from = max(first, no.when(t))
	}
	if tk != nil && !tk.released && t-n.header.pulled > awayMS && from == t && q.waitMS() == 0 {
		return no.denied(m.pace(c, f, tk.amounts, t), pos, detail)
	}
	eta := partOf(max(m.eta(c, f, pos), c.holds(f, pos)), rest)
	wait := 2*eta + 3000
	if c.least < million {
		wait = min(wait, later)
	}
	return no.denied(from+ceilSecond(wait), m.stays(n, q, wait != later && from+eta/2 <= t+q.waitMS(), pos), detail)
}

// stays keeps a ticket's place, unless its caller waits in place and would do so in
// vain: by twice its time, since the estimate is a rough one.
func (m *Model) stays(n *modelLane, q Request, hope bool, pos int64) int64 {
	if q.waitMS() == 0 || hope {
		return pos
	}
	m.drop(n, q.Ticket, n.tickets[q.Ticket])
	return 0
}

// forEver tells whether the limit that refuses never turns.
func (no *refusal) forEver() bool {
	return no.dim >= 0 && no.class.n.plan.dims[no.dim].window == Ever
}

// turns tells whether the limit that refuses is a day's or a month's, or for ever.
func (no *refusal) turns() bool {
	if no.dim < 0 {
		return false
	}
	return no.class.n.plan.dims[no.dim].window.counted()
}

// answer says when to come back, and keeps a place for what waits.
func (m *Model) answer(n *modelLane, c *modelClass, q Request, leaf string, tk *modelTicket, no *refusal, t, ends int64, detail string, waits bool) answer {
	switch {
	case waits:
		return m.place(n, c, q, leaf, tk, no, t, ends, detail)
	case ends < 0:
		return no.denied(t+30000, 0, detail)
	case ends > 0:
		return no.denied(ends, 0, detail)
	case no.dim < 0:
		return no.denied(t+1000, 0, "")
	}
	return no.denied(no.when(t), 0, detail)
}
