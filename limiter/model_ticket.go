package limiter

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// lua/drop.lua and ticket.lua.

// Drop is Redis.Drop on the Model's clock.
func (m *Model) Drop(_ context.Context, l Lane, tickets ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _, err := m.enter(l)
	if err != nil {
		return err
	}
	for _, name := range tickets {
		if tk := n.tickets[name]; tk != nil {
			m.drop(n, name, tk)
		}
		n.leavePlace(name)
	}
	return nil
}

// DropLeaf is Redis.DropLeaf on the Model's clock.
func (m *Model) DropLeaf(_ context.Context, l Lane, leaf string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _, err := m.enter(l)
	if err != nil {
		return err
	}
	for ticket, tk := range n.tickets {
		c, name := n.named(tk.leaf)
		if c != nil && anyPriority(name) == anyPriority(leaf) {
			m.drop(n, ticket, tk)
		}
	}
	for _, f := range n.leaves {
		if anyPriority(f.name) == anyPriority(leaf) {
			f.front = nil
			f.order = slices.Grow(f.order, 32)[:(len(f.order)+31)/32*32]
			f.first = int64(len(f.order))
		}
	}
	return nil
}

// Ticket is Redis.Ticket on the Model's clock.
func (m *Model) Ticket(_ context.Context, l Lane, ticket string) (TicketState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return TicketState{}, err
	}
	tk := n.tickets[ticket]
	if tk == nil {
		return TicketState{}, ErrNoTicket
	}
	c, name := n.named(tk.leaf)
	if c == nil || c.line == nil {
		return TicketState{}, ErrNoTicket
	}
	f := m.leaf(n, c, name, 0, nil)
	s := TicketState{Ticket: ticket, Class: c.Name, Leaf: name, Amounts: tk.amounts, Released: tk.released, Waiting: f.waiting, At: time.UnixMilli(t)}
	if tk.released {
		s.Until = time.UnixMilli(n.leases["t"+ticket])
		return s, nil
	}
	s.Position = f.position(tk.seq)
	_, last, rest := m.turnsBefore(c, f, s.Position)
	s.ETA = time.Duration(max(0, last-t)+partOf(m.eta(c, f, s.Position), rest)) * time.Millisecond
	if no := m.inTheWay(c, f, tk.amounts, t); no != nil {
		p := no.class.n.plan
		s.Limiter = Limit{Unit: p.dims[no.dim].unit, Window: p.dims[no.dim].window}.Name()
		s.Node = cmp.Or(p.node, "lane")
	}
	return s, nil
}

// inTheWay is the limit that a ticket waits for.
func (m *Model) inTheWay(c *modelClass, f *modelLeaf, a Amounts, t int64) *refusal {
	no := c.n.fits(c, a, c.line.releasedBy)
	for _, nc := range m.along(c, f) {
		if no == nil {
			no = nc.n.fits(nc, a, nc.out())
		}
	}
	if no == nil {
		no = c.n.smooth(c, a, t)
	}
	return no
}
