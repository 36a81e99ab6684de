package limiter

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Pull makes one pass over the lane's lines and releases up to slots tickets:
// their jobs may come now and will pass. At most one pass is made each 0.5 s
// over all processes (50 ms when the last one ended for want of slots); other
// calls release nothing. A release that is not used
// within 10 s goes back to the front of its line.
func (r *Redis) Pull(ctx context.Context, l Lane, slots int) ([]Pulled, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	got, err := r.call(ctx, pullScript(), l, r.lane(l).keys, slots)
	if err != nil {
		return nil, err
	}
	if len(got.rest)%2 != 1 {
		return nil, fmt.Errorf("limiter: strange answer to a pull: %v", got.rest)
	}
	var out []Pulled
	for i := 1; i < len(got.rest); i += 2 {
		out = append(out, Pulled{Ticket: text(got.rest[i]), Leaf: text(got.rest[i+1])})
	}
	return out, nil
}

// Drop gives the places of tickets back. Unknown ones are passed over.
func (r *Redis) Drop(ctx context.Context, l Lane, tickets ...string) error {
	const most = 500
	for len(tickets) > 0 {
		n := min(most, len(tickets))
		args := []any{"tickets"}
		for _, t := range tickets[:n] {
			args = append(args, t)
		}
		if _, err := r.call(ctx, dropScript(), l, r.lane(l).keys, args...); err != nil {
			return err
		}
		tickets = tickets[n:]
	}
	return nil
}

// DropLeaf gives back the places of everything that waits in a leaf (as
// Path.Leaf), of any priority. It works in steps, so that a long line does not
// hold Redis.
func (r *Redis) DropLeaf(ctx context.Context, l Lane, leaf string) error {
	const chunks = 100
	for {
		got, err := r.call(ctx, dropScript(), l, r.lane(l).keys, "leaf", anyPriority(leaf), chunks)
		if err != nil {
			return err
		}
		n, err := numbers(got.rest)
		if err != nil || len(n) != 2 {
			return fmt.Errorf("limiter: strange answer to a drop: %v", got.rest)
		}
		if n[1] == 0 {
			return nil
		}
	}
}

// anyPriority is a leaf without its last level.
func anyPriority(leaf string) string { return leaf[:max(0, strings.LastIndexByte(leaf, '/'))] }

// TicketState is where a ticket stands in its line.
type TicketState struct {
	Ticket   string
	Class    string
	Leaf     string        // Path.Leaf
	Amounts  Amounts       // what its call is charged
	Released bool          // a pull let it go; it passes until Until
	Until    time.Time     // zero unless Released
	Position int64         // from 1; 0 when Released
	Waiting  int64         // tickets in its leaf
	ETA      time.Duration // at the present rates, until its turn
	Limiter  string        // the limit that is in its way now; "" = none
	Node     string        // whose limit that is: "lane", "tenant/acme"
	At       time.Time     // when this was so, Redis's clock
}

// Ticket tells where a ticket stands; ErrNoTicket when it does not wait.
func (r *Redis) Ticket(ctx context.Context, l Lane, ticket string) (TicketState, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	got, err := r.call(ctx, ticketScript(), l, r.lane(l).keys, ticket)
	if err != nil {
		return TicketState{}, err
	}
	if len(got.rest) == 0 {
		return TicketState{}, ErrNoTicket
	}
	if len(got.rest) != 10+NumUnits {
		return TicketState{}, fmt.Errorf("limiter: strange answer about a ticket: %v", got.rest)
	}
	n, err := numbers(got.rest[2 : 9+NumUnits])
	if err != nil {
		return TicketState{}, err
	}
	s := TicketState{Ticket: ticket, Class: text(got.rest[0]), Leaf: text(got.rest[1]), Node: text(got.rest[9+NumUnits]), At: time.UnixMilli(got.now)}
	s.fill(n)
	return s, nil
}

// fill takes the numbers of ticket.lua's answer.
func (s *TicketState) fill(n []int64) {
	s.Released, s.Position, s.Waiting = n[0] == 1, n[1], n[2]
	s.ETA = time.Duration(n[3]) * time.Millisecond
	if s.Released {
		s.Until = time.UnixMilli(n[4])
	}
	if n[5] >= 0 {
		s.Limiter = Limit{Unit: Unit(n[5]), Window: Window(n[6])}.Name()
	}
	s.Amounts = Amounts(n[7 : 7+NumUnits])
}
