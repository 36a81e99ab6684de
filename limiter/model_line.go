package limiter

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// lua/line.lua.

const (
	releaseMS = 10_000     // a release lapses
	awayMS    = 5_000      // nobody pulls
	farMS     = 21_600_000 // no estimate is longer
)

// modelLine is a class's line in a lane.
type modelLine struct {
	waiting, released  int64
	virtual            int64 // virtual time
	pace               int64 // of those that come back by themselves while nobody pulls
	weights            int64 // of the leaves that wait
	rate               int64 // releases a second, times 1000
	booked, releasedBy Amounts
}

type modelLeaf struct {
	name    string
	id      int64
	weight  int64
	rev     int64
	waiting int64
	finish  int64
	first   int64    // seq of the head
	order   []string // by seq
	front   []string
	booked  Amounts
	last    int64 // last release
}

type modelTicket struct {
	released bool
	leaf     int64
	seq      int64 // -1 at the front
	amounts  Amounts
}

// add changes amounts; below zero none gets.
func (a *Amounts) add(b Amounts, sign int64) {
	for u := range a {
		a[u] = max(0, a[u]+sign*b[u])
	}
}

func (c *modelClass) lineOf() *modelLine {
	if c.line == nil {
		c.line = &modelLine{}
	}
	return c.line
}

var levels = []string{"organization", "tenant", "team", "key", "run", "priority"}

// weigh multiplies the weights that are set for the leaf's levels.
func (m *Model) weigh(leaf string) int64 {
	w := int64(1)
	i := 0
	for part := range strings.SplitSeq(leaf, "/") {
		if part == "" {
			continue
		}
		if x := m.weights[levels[min(i, len(levels)-1)]+"/"+part]; x > 0 && part != "-" && i < len(levels) {
			w *= x
		}
		i++
	}
	return min(w, 1000000)
}

func (m *Model) leaf(n *modelLane, c *modelClass, name string, rev int64) *modelLeaf {
	key := c.Name + "|" + name
	f := n.leaves[key]
	if f == nil {
		n.lastID++
		f = &modelLeaf{name: name, id: n.lastID, weight: m.weigh(name), rev: rev, finish: c.lineOf().virtual}
		n.leaves[key], n.names[f.id] = f, key
	}
	return f
}

// named gives class and leaf of a ticket.
func (n *modelLane) named(id int64) (*modelClass, string) {
	class, leaf, _ := strings.Cut(n.names[id], "|")
	return n.class(class), leaf
}

func (n *modelLane) class(name string) *modelClass {
	for _, c := range n.classes {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// count changes how many wait in a leaf, and with it the weights that wait.
func (l *modelLine) count(f *modelLeaf, by int64) {
	if f.waiting == 0 && by > 0 {
		l.weights += f.weight
	}
	f.waiting += by
	l.waiting += by
	if f.waiting == 0 && by < 0 {
		l.weights = max(0, l.weights-f.weight)
	}
}

func (l *modelLine) enter(f *modelLeaf, a Amounts) {
	l.count(f, 1)
	l.booked.add(a, 1)
	f.booked.add(a, 1)
}

// book puts a newcomer at the end of its leaf's line.
func (n *modelLane) book(c *modelClass, f *modelLeaf, ticket string, a Amounts) {
	n.tickets[ticket] = &modelTicket{leaf: f.id, seq: int64(len(f.order)), amounts: a}
	f.order = append(f.order, ticket)
	c.lineOf().enter(f, a)
}

// cost is a request's dominant share of the lane, in units of 1e-9.
func (n *modelLane) cost(a Amounts) int64 {
	var most int64
	for _, p := range n.plan.dims {
		if p.window != Held {
			most = max(most, int64(math.Floor(float64(a[p.unit])*1000000000/float64(p.inside))))
		}
	}
	return most
}

func (c *modelClass) unbook(f *modelLeaf, a Amounts) {
	l := c.lineOf()
	l.count(f, -1)
	l.booked.add(a, -1)
	f.booked.add(a, -1)
}

// unrelease ends a release, admitted or not.
func (n *modelLane) unrelease(c *modelClass, ticket string, a Amounts) {
	l := c.lineOf()
	l.released = max(0, l.released-1)
	l.releasedBy.add(a, -1)
	delete(n.leases, "t"+ticket)
}

// forward puts a released ticket back before all others of its leaf.
func (n *modelLane) forward(c *modelClass, f *modelLeaf, ticket string, a Amounts, t int64) {
	n.unrelease(c, ticket, a)
	n.advance(c, a, -1, t)
	f.front = append([]string{ticket}, f.front...)
	n.tickets[ticket] = &modelTicket{leaf: f.id, seq: -1, amounts: a}
	f.finish = max(0, f.finish-n.cost(a)/f.weight)
	c.line.enter(f, a)
}

// position is a waiting ticket's place in its leaf, from 1.
func (f *modelLeaf) position(seq int64) int64 {
	if seq < 0 {
		return 1
	}
	return max(1, min(f.waiting, seq-f.first+1+int64(len(f.front))))
}

// eta gives how many ms the leaf's share of the room needs for what is booked
// up to place pos, or how many the releases of late would need.
func (n *modelLane) eta(c *modelClass, f *modelLeaf, pos int64) int64 {
	var most int64
	if l := c.line; l.rate > 0 {
		x := float64(pos) * float64(l.weights) / float64(f.weight) * 1000000 / float64(l.rate)
		most = int64(math.Min(600000, math.Floor(x)))
	}
	for d, p := range n.plan.dims {
		b := f.booked[p.unit]
		if !p.window.sliding() || b == 0 {
			continue
		}
		x := float64(b) * float64(pos) / float64(f.waiting) * span * float64(p.window.width())
		x = x / float64(n.room(c, d)) * float64(c.line.weights) / float64(f.weight)
		most = max(most, int64(math.Min(math.Floor(x), farMS)))
	}
	return most
}

// pace spreads those that come back by their own countdown while nobody pulls.
func (n *modelLane) pace(c *modelClass, a Amounts, t int64) int64 {
	l := c.lineOf()
	var step int64
	for d, p := range n.plan.dims {
		if p.window.sliding() && a[p.unit] > 0 {
			x := float64(a[p.unit]) * span * float64(p.window.width()) / float64(n.room(c, d))
			step = max(step, int64(math.Min(math.Floor(x), farMS)))
		}
	}
	l.pace = max(l.pace, t+1000) + step
	return l.pace
}

// admitted takes a ticket out of the line when its job got a permit.
func (m *Model) admitted(n *modelLane, c *modelClass, name, ticket string, tk *modelTicket) {
	delete(n.tickets, ticket)
	if tk.released {
		n.unrelease(c, ticket, tk.amounts)
		return
	}
	f := m.leaf(n, c, name, 0)
	c.unbook(f, tk.amounts)
	f.finish = max(f.finish, c.line.virtual) + n.cost(tk.amounts)/f.weight
}

// drop takes a ticket out of the line for good.
func (m *Model) drop(n *modelLane, ticket string, tk *modelTicket, t int64) {
	delete(n.tickets, ticket)
	c, name := n.named(tk.leaf)
	switch {
	case c == nil:
	case tk.released:
		n.advance(c, tk.amounts, -1, t)
		n.unrelease(c, ticket, tk.amounts)
	default:
		c.unbook(m.leaf(n, c, name, 0), tk.amounts)
	}
}

// due gives the leases of a kind ('p' permits, 't' releases) that ended, the
// oldest first.
func (n *modelLane) due(kind byte, t int64, most int) []string {
	var due []string
	for m, ends := range n.leases {
		if m[0] == kind && ends <= t {
			due = append(due, m)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		byName := cmp.Compare(a, b)
		if kind == 't' {
			byName = -byName // releases are kept under negated scores
		}
		return cmp.Or(cmp.Compare(n.leases[a], n.leases[b]), byName)
	})
	return due[:min(len(due), most)]
}
