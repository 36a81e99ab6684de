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
	rateMS    = 64_000     // over which a rate is the mean
	lapses    = 12         // releases of a ticket that nobody came for, until it is forgotten
	newMS     = 10_000     // a rate that was seen for less says little
	callMS    = 20_000     // what a call is taken to last while no rate is known
	guessMS   = 600_000    // and what follows from that is believed
)

// modelLine is a class's line in a lane.
type modelLine struct {
	waiting, released  int64
	virtual            int64 // virtual time
	pace               int64 // of those that come back by themselves while nobody pulls
	weights            int64 // of the leaves that wait
	rate               int64 // that got away a second, times 1,000,000
	passed             int64 // admitted without a release since the last pass
	seen               int64 // ms over which rate was seen, up to rateMS
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
	share   int64 // ppm of what all that wait get
	feature string
	nodes   []string // with limits, on its way
}

type modelTicket struct {
	released bool
	leaf     int64
	seq      int64 // below 0 at the front: -1 less the releases that nobody came for
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

// out is what was released and did not come yet.
func (c *modelClass) out() Amounts {
	if c.line == nil {
		return Amounts{}
	}
	return c.line.releasedBy
}

var levels = []string{"organization", "tenant", "team", "key", "run", "priority"}

// level gives what a leaf's levels weigh, from the organization down.
func (m *Model) level(leaf string) (parts []string, weights []int64) {
	for part := range strings.SplitSeq(leaf, "/") {
		if part == "" || len(parts) == len(levels) {
			continue
		}
		w := int64(1)
		if x := m.weights[levels[len(parts)]+"/"+part]; x > 0 && part != "-" {
			w = x
		}
		parts, weights = append(parts, part), append(weights, w)
	}
	return parts, weights
}

// weigh multiplies the weights of the leaf's levels.
func (m *Model) weigh(leaf string) int64 {
	product := int64(1)
	_, weights := m.level(leaf)
	for _, w := range weights {
		product *= w
	}
	return min(product, 1000000)
}

func (m *Model) leaf(n *modelLane, c *modelClass, name string, rev int64, q *Request) *modelLeaf {
	key := c.Name + "|" + name
	f := n.leaves[key]
	if f == nil {
		n.lastID++
		l := c.lineOf()
		f = &modelLeaf{name: name, id: n.lastID, weight: m.weigh(name), rev: rev, finish: l.virtual}
		f.share = max(1, int64(math.Floor(1000000*float64(f.weight)/float64(l.weights+f.weight))))
		if q != nil {
			f.feature, f.nodes = q.Feature, m.config.nodesOf(q.Path, q.Feature)
		}
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

// enter counts a ticket among those that wait.
func (m *Model) enterLine(c *modelClass, f *modelLeaf, a Amounts) {
	l := c.lineOf()
	l.count(f, 1)
	l.booked.add(a, 1)
	f.booked.add(a, 1)
	m.stand(c, f, false, a, 1, 1)
}

// book puts a newcomer at the end of its leaf's line.
func (m *Model) book(n *modelLane, c *modelClass, f *modelLeaf, ticket string, a Amounts) {
	n.tickets[ticket] = &modelTicket{leaf: f.id, seq: int64(len(f.order)), amounts: a}
	f.order = append(f.order, ticket)
	m.enterLine(c, f, a)
}

// cost is a request's dominant share of the lane, in units of 1e-9. It is never
// nothing: where only calls at once are limited, turns must go round all the same.
func (n *modelLane) cost(a Amounts) int64 {
	most := int64(1000)
	for _, p := range n.plan.dims {
		if p.window != Held && !p.shadow {
			most = max(most, int64(math.Floor(float64(a[p.unit])*1000000000/float64(p.inside))))
		}
	}
	return most
}

// turnCost is what a cost adds to a leaf's finish: by its share of the lane.
func (n *modelLane) turnCost(f *modelLeaf, a Amounts) int64 {
	return int64(math.Floor(float64(n.cost(a)) * 1000000 / float64(f.share)))
}

func (m *Model) unbook(c *modelClass, f *modelLeaf, a Amounts) {
	l := c.lineOf()
	l.count(f, -1)
	l.booked.add(a, -1)
	f.booked.add(a, -1)
	m.stand(c, f, false, a, -1, 1)
}

// unrelease ends a release, admitted or not.
func (m *Model) unrelease(c *modelClass, f *modelLeaf, ticket string, a Amounts) {
	l := c.lineOf()
	l.released = max(0, l.released-1)
	l.releasedBy.add(a, -1)
	m.stand(c, f, true, a, -1, 1)
	delete(c.n.leases, "t"+ticket)
}

// forward puts a released ticket back before all others of its leaf.
func (m *Model) forward(n *modelLane, c *modelClass, f *modelLeaf, ticket string, a Amounts, seq int64) {
	m.unrelease(c, f, ticket, a)
	advanceAll(c, m.along(c, f), a, -1)
	f.front = append([]string{ticket}, f.front...)
	n.tickets[ticket] = &modelTicket{leaf: f.id, seq: seq, amounts: a}
	f.finish = max(0, f.finish-n.turnCost(f, a))
	m.enterLine(c, f, a)
}

// position is a waiting ticket's place in its leaf, from 1.
func (f *modelLeaf) position(seq int64) int64 {
	if seq < 0 {
		return 1
	}
	return max(1, min(f.waiting, seq-f.first+1+int64(len(f.front))))
}

// holds guesses the same from what may be held at a time (calls in flight), while
// nothing else is known of a line: so that not all of a long one come back soon.
func (c *modelClass) holds(f *modelLeaf, pos int64) (most int64) {
	for d, p := range c.n.plan.dims {
		if p.window == Held && f.booked[p.unit] > 0 && !p.shadow && c.line.seen < newMS {
			x := float64(f.booked[p.unit]) * float64(pos) / float64(f.waiting) * callMS / float64(c.n.room(c, d)) * 1000000 / float64(f.share)
			most = max(most, int64(math.Min(math.Floor(x), guessMS)))
		}
	}
	return most
}

// admitted takes a ticket out of the line when its job got a permit.
func (m *Model) admitted(n *modelLane, c *modelClass, name, ticket string, tk *modelTicket) {
	delete(n.tickets, ticket)
	f := m.leaf(n, c, name, 0, nil)
	if tk.released {
		m.unrelease(c, f, ticket, tk.amounts)
		return
	}
	m.unbook(c, f, tk.amounts)
	f.finish = max(f.finish, c.line.virtual) + n.turnCost(f, tk.amounts)
}

// drop takes a ticket out of the line for good.
func (m *Model) drop(n *modelLane, ticket string, tk *modelTicket) {
	delete(n.tickets, ticket)
	c, name := n.named(tk.leaf)
	if c == nil {
		return
	}
	f := m.leaf(n, c, name, 0, nil)
	if tk.released {
		advanceAll(c, m.along(c, f), tk.amounts, -1)
		m.unrelease(c, f, ticket, tk.amounts)
		return
	}
	m.unbook(c, f, tk.amounts)
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
