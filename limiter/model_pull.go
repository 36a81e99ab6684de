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
		seq := f.first
		var name string
		if len(f.front) > 0 {
			name, seq = f.front[0], -1
		} else {
			if f.first >= int64(len(f.order)) {
				return "", nil
			}
			name = f.order[f.first]
		}
		if tk := n.tickets[name]; tk != nil && !tk.released && tk.leaf == f.id && tk.seq == seq {
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
func nextLeaf(l *modelLine, leaves []*modelLeaf) (best *modelLeaf, least int64) {
	for _, f := range leaves {
		if f.waiting == 0 {
			continue
		}
		start := max(f.finish, l.virtual)
		if best == nil || start < least || (start == least && f.id < best.id) {
			best, least = f, start
		}
	}
	return best, least
}

// release lets leaves' heads go until one does not fit: then the whole pass
// stops, so that room gathers for it and large jobs do not starve.
func (n *modelLane) release(c *modelClass, leaves []*modelLeaf, slots int, t int64) (out []Pulled) {
	l := c.lineOf()
	for slots > 0 {
		f, start := nextLeaf(l, leaves)
		if f == nil {
			return out
		}
		name, tk := n.head(f)
		if tk == nil {
			if f.waiting > 0 {
				l.count(f, -f.waiting)
			}
			continue
		}
		if n.fits(c, tk.amounts, l.releasedBy) != nil || n.smooth(c, tk.amounts, t) != nil {
			return out
		}
		l.virtual, f.finish, f.last = start, start+n.cost(tk.amounts)/f.weight, t
		c.unbook(f, tk.amounts)
		l.released++
		l.releasedBy.add(tk.amounts, 1)
		n.advance(c, tk.amounts, 1, t)
		tk.released = true
		n.leases["t"+name] = t + releaseMS
		f.advance()
		slots--
		out = append(out, Pulled{Ticket: name, Leaf: f.name})
	}
	return out
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
			n.forward(c, m.leaf(n, c, name, 0), ticket, tk.amounts, t)
		} else {
			delete(n.leases, x)
		}
	}
}

func (n *modelLane) leavesOf(class string) (out []*modelLeaf) {
	for key, f := range n.leaves {
		if owner, _, _ := strings.Cut(key, "|"); owner == class {
			out = append(out, f)
		}
	}
	return out
}

func (m *Model) pass(n *modelLane, c *modelClass, slots int, t, since int64) (out []Pulled) {
	l, leaves := c.lineOf(), n.leavesOf(c.Name)
	for _, f := range leaves {
		if f.rev == m.rev {
			continue
		}
		w := m.weigh(f.name)
		if f.waiting > 0 {
			l.weights += w - f.weight
		}
		f.weight, f.rev = w, m.rev
	}
	if reason, _, _ := m.closed(n, c.Name, "", t); reason == "" {
		out = n.release(c, m.open(n, leaves, c.Name, t), slots, t)
		if since <= awayMS {
			rate := float64(len(out)) * 1000000 / float64(since)
			if l.rate > 0 {
				rate = (float64(l.rate*15) + rate) / 16
			}
			l.rate = int64(math.Floor(rate))
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
	var out []Pulled
	for _, c := range n.classes {
		if c.line != nil {
			out = append(out, m.pass(n, c, slots-len(out), t, since)...)
		}
	}
	n.header.nextPull = t + 500
	if len(out) == slots {
		n.header.nextPull = t + 50
	}
	return out, nil
}
