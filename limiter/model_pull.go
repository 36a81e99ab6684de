package limiter

import (
	"context"
	"math"
	"strings"
)

// lua/pull.lua.

// head gives the ticket that is next in a leaf; places that were given back are skipped.
func (n *modelLane) head(f *modelLeaf) (string, *modelTicket) {
	for f.waiting > 0 {
		var name string
		front := len(f.front) > 0
		if front {
			name = f.front[0]
		} else {
			if f.first >= int64(len(f.order)) {
				return "", nil
			}
			name = f.order[f.first]
		}
		if tk := n.tickets[name]; tk != nil && !tk.released && tk.leaf == f.id && (front && tk.seq < 0 || !front && tk.seq == f.first) {
			return name, tk
		}
		f.advance()
	}
	return "", nil
}

// advance leaves the head's place behind.
func (f *modelLeaf) advance() {
	if len(f.front) > 0 {
		f.front = f.front[1:]
		return
	}
	f.order[f.first] = ""
	f.first++
}

// nextLeaf is the one that waits with the smallest virtual start.
func nextLeaf(l *modelLine, leaves []*modelLeaf, skipped map[*modelLeaf]bool) (best *modelLeaf, least int64) {
	for _, f := range leaves {
		if f.waiting == 0 || skipped[f] {
			continue
		}
		start := max(f.finish, l.virtual)
		if best == nil || start < least || (start == least && f.id < best.id) {
			best, least = f, start
		}
	}
	return best, least
}

// blocked tells whether a node on the leaf's way has no room for its head: then all
// that go by that node wait in this pass.
func (m *Model) blocked(c *modelClass, f *modelLeaf, a Amounts, full map[string]bool) (turns, blocked bool) {
	for _, nc := range m.along(c, f) {
		n := nc.n
		if full[n.plan.node] {
			return false, true
		}
		no := n.fits(nc, a, nc.out())
		if no == nil {
			no = n.smooth(nc, a, n.header.last)
		}
		if no != nil {
			full[n.plan.node] = true
			return no.turns(), true
		}
	}
	return false, false
}

// letGo releases the head of a leaf.
func (m *Model) letGo(n *modelLane, c *modelClass, f *modelLeaf, name string, tk *modelTicket, start, t int64) {
	l := c.lineOf()
	l.virtual, f.finish, f.last = start, start+n.turnCost(f, tk.amounts), t
	m.unbook(c, f, tk.amounts)
	l.released++
	l.releasedBy.add(tk.amounts, 1)
	m.stand(c, f, true, tk.amounts, 1, 1)
	advanceAll(c, m.along(c, f), tk.amounts, 1)
	tk.released = true
	n.leases["t"+name] = t + releaseMS
	f.advance()
}

// lose forgets what a leaf has booked.
func (m *Model) lose(c *modelClass, f *modelLeaf) {
	a, n := f.booked, f.waiting
	f.booked = Amounts{}
	c.line.count(f, -n)
	c.line.booked.add(a, -1)
	m.stand(c, f, false, a, -1, n)
}

// release lets leaves' heads go until one does not fit the lane: then the whole pass
// stops, so that room gathers for it and large jobs do not starve. A leaf that a
// node of its own holds up is passed over. turns tells that something waits for a day
// or a month to turn.
func (m *Model) release(n *modelLane, c *modelClass, leaves []*modelLeaf, slots int, t int64) (out []Pulled, turns bool) {
	l, full, skipped := c.lineOf(), map[string]bool{}, map[*modelLeaf]bool{}
	for slots > 0 {
		f, start := nextLeaf(l, leaves, skipped)
		if f == nil {
			return out, turns
		}
		name, tk := n.head(f)
		if tk == nil {
			if f.waiting > 0 {
				m.lose(c, f)
			}
			continue
		}
		_, large := larger(c, m.along(c, f), tk.amounts)
		turn, blocked := false, false
		if !large { // a limit became smaller: it is let go to hear that it is too large, and holds nobody up
			turn, blocked = m.blocked(c, f, tk.amounts, full)
		}
		if turns = turns || turn; blocked {
			skipped[f] = true
			continue
		}
		var no *refusal
		if !large {
			if no = n.fits(c, tk.amounts, l.releasedBy); no == nil {
				no = n.smooth(c, tk.amounts, t)
			}
		}
		if no != nil {
			return out, turns || no.turns()
		}
		m.letGo(n, c, f, name, tk, start, t)
		slots--
		out = append(out, Pulled{Ticket: name, Leaf: f.name})
	}
	return out, turns
}

// lapsedRelease puts a release that nobody came for back to the front. After some
// of them the job is taken to be gone: what was set aside for it is others' now, and
// if it comes after all it is new.
func (m *Model) lapsedRelease(n *modelLane, c *modelClass, f *modelLeaf, ticket string, tk *modelTicket) {
	if seq := min(tk.seq, -1) - 1; seq >= -lapses {
		m.forward(n, c, f, ticket, tk.amounts, seq)
		return
	}
	m.drop(n, ticket, tk)
}

// lapsedReleases puts releases that nobody came for back to the front.
func (m *Model) lapsedReleases(n *modelLane, t int64) {
	for _, x := range n.due('t', t, 1000) {
		ticket := x[1:]
		tk := n.tickets[ticket]
		if tk == nil || !tk.released {
			delete(n.leases, x)
			continue
		}
		if c, name := n.named(tk.leaf); c != nil {
			m.lapsedRelease(n, c, m.leaf(n, c, name, 0, nil), ticket, tk)
		} else {
			delete(n.leases, x)
		}
	}
}

// measure follows how many get away a second: the mean since the line began, and
// of the last minute or so later on. The first pass only starts the watch.
func (l *modelLine) measure(released, since int64) {
	got := released + l.passed
	l.passed = 0
	if l.seen == 0 {
		l.seen = 1
		return
	}
	since = min(since, rateMS-1)
	l.seen = min(l.seen+since, rateMS)
	l.rate += int64(math.Floor((float64(got)*1000000000 - float64(l.rate)*float64(since)) / float64(l.seen)))
}

func (n *modelLane) leavesOf(class string) (out []*modelLeaf) {
	for key, f := range n.leaves {
		if owner, _, _ := strings.Cut(key, "|"); owner == class {
			out = append(out, f)
		}
	}
	return out
}

// readdress follows a new configuration: the nodes on a leaf's way that have limits
// now, and what it weighs.
func (m *Model) readdress(c *modelClass, f *modelLeaf) {
	w := m.weigh(f.name)
	if f.waiting > 0 {
		c.lineOf().weights += w - f.weight
	}
	f.weight, f.rev = w, m.rev
	f.nodes = nil
	add := func(kind, id string) {
		if m.node(kind+"/"+id, c.n.header.last) != nil {
			f.nodes = append(f.nodes, kind+"/"+id)
		}
	}
	add(ProjectKind, m.scope.Project)
	ParseLeaf(f.name).each(f.feature, add)
	m.stand(c, f, false, f.booked, 1, f.waiting)
}

func (m *Model) pass(n *modelLane, c *modelClass, slots int, t, since int64) (out []Pulled) {
	l, leaves := c.lineOf(), n.leavesOf(c.Name)
	for _, f := range leaves {
		if f.rev != m.rev {
			m.readdress(c, f)
		}
	}
	reason, _, _ := m.closed(n, c.Name, "", t)
	if reason == "" && (n.half == nil || l.released == 0) {
		open := m.open(n, leaves, c.Name, t)
		m.shareOut(open)
		var turns bool
		if out, turns = m.release(n, c, open, slots, t); !turns || len(out) > 0 {
			l.measure(int64(len(out)), since)
		}
	}
	idle := l.waiting == 0 && l.released == 0
	for _, f := range leaves {
		if f.waiting == 0 && (idle || (f.finish <= l.virtual && t-f.last > releaseMS+1000)) {
			delete(n.leaves, c.Name+"|"+f.name)
			delete(n.names, f.id)
		}
	}
	if idle {
		c.line = nil
	}
	return out
}

// open leaves out what is paused.
func (m *Model) open(n *modelLane, leaves []*modelLeaf, class string, t int64) (out []*modelLeaf) {
	for _, f := range leaves {
		if _, held := m.paused(n, class, f.name, t); !held {
			out = append(out, f)
		}
	}
	return out
}

// Pull is Redis.Pull on the Model's clock.
func (m *Model) Pull(_ context.Context, l Lane, slots int) ([]Pulled, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, t, err := m.enter(l)
	if err != nil {
		return nil, err
	}
	if slots <= 0 || t < n.header.nextPull {
		return nil, nil
	}
	since := t - n.header.pulled
	n.header.pulled = t
	m.lapsedReleases(n, t)
	_, _, _, half := m.tripped(l.short(), t)
	if half != nil {
		slots = 1
	}
	var out []Pulled
	for _, c := range n.classes {
		if c.line != nil {
			out = append(out, m.pass(n, c, slots-len(out), t, since)...)
		}
	}
	n.header.nextPull = t + 500
	if len(out) == slots && half == nil {
		n.header.nextPull = t + 50
	}
	return out, nil
}
