package limiter

import (
	"context"
	"slices"
	"time"
)

// lua/drop.lua and ticket.lua.

// Drop is Redis.Drop on the Model's clock.
func (m *Model) Drop(_ context.Context, l Lane, tickets ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return err
	}
	for _, name := range tickets {
		if tk := n.tickets[name]; tk != nil {
			m.drop(n, name, tk, t)
		}
	}
	return nil
}

// DropLeaf is Redis.DropLeaf on the Model's clock.
func (m *Model) DropLeaf(_ context.Context, l Lane, leaf string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return err
	}
	for ticket, tk := range n.tickets {
		c, name := n.named(tk.leaf)
		if c != nil && anyPriority(name) == anyPriority(leaf) {
			m.drop(n, ticket, tk, t)
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
	f := m.leaf(n, c, name, 0)
	s := TicketState{Ticket: ticket, Class: c.Name, Leaf: name, Amounts: tk.amounts, Released: tk.released, Waiting: f.waiting, At: time.UnixMilli(t)}
	if tk.released {
		s.Until = time.UnixMilli(n.leases["t"+ticket])
		return s, nil
	}
	s.Position = f.position(tk.seq)
	s.ETA = time.Duration(n.eta(c, f, s.Position)) * time.Millisecond
	no := n.fits(c, tk.amounts, c.line.releasedBy)
	if no == nil {
		no = n.smooth(c, tk.amounts, t)
	}
	if no != nil {
		p := n.plan.dims[no.dim]
		s.Limiter = Limit{Unit: p.unit, Window: p.window}.Name()
	}
	return s, nil
}
