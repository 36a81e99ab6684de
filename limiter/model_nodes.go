package limiter

import (
	"context"
	"time"
)

// lua/nodes.lua.

// node gives a node's ledger, moved to t; nil when it has no limits.
func (m *Model) node(name string, t int64) *modelLane {
	n := m.nodes[name]
	if n == nil || n.closed || n.from > 0 {
		from := m.nodes[pattern(name)]
		if from == nil || from.closed {
			return nil
		}
		n = m.byPattern(name, n, from, t)
	}
	n.days, n.host = m.cal.at(m.now).at, nil
	n.moveTo(t)
	return n
}

// byPattern gives a node the limits of its kind's pattern, as they are now.
func (m *Model) byPattern(name string, n, from *modelLane, t int64) *modelLane {
	if n != nil && !n.closed && n.from == from.times {
		return n
	}
	p := from.plan
	p.lane = m.config.laneOf(name)
	p.node = name
	m.reshape(m.nodes, name, p, t)
	n = m.nodes[name]
	n.from = from.times
	return n
}

// path gives the ledgers, by class, of a list of nodes on a lane's way.
func (m *Model) path(lane *modelLane, names []string, class string, t int64) (out []*modelClass) {
	for _, name := range names {
		if n := m.node(name, t); n != nil {
			n.host = lane
			if c := n.class(class); c != nil {
				if c.line != nil && c.line.virtual != m.rev {
					c.line = nil // of an older configuration: who waits stands in line anew
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// along gives the nodes with limits that a leaf's tickets stand in line at too.
func (m *Model) along(c *modelClass, f *modelLeaf) []*modelClass {
	return m.path(c.n, f.nodes, c.Name, c.n.header.last)
}

// stand changes by what tickets stand for in the lines of the nodes along. A leaf
// that has not followed the newest configuration yet stands nowhere.
func (m *Model) stand(c *modelClass, f *modelLeaf, released bool, a Amounts, by, count int64) {
	if f.rev != m.rev {
		return
	}
	for _, nc := range m.along(c, f) {
		l := nc.lineOf()
		l.virtual = m.rev
		if released {
			l.released = max(0, l.released+by*count)
			l.releasedBy.add(a, by)
		} else {
			l.waiting = max(0, l.waiting+by*count)
			l.booked.add(a, by)
		}
		if l.waiting == 0 && l.released == 0 {
			nc.line = nil
		}
	}
}

// charged are the ledgers, by class, that a permit was charged to, with the epoch
// that each had.
func (m *Model) charged(n *modelLane, p *modelPermit, each func(c *modelClass, epoch int64)) {
	each(n.owner(p.class), p.epoch)
	for i, name := range p.nodes {
		x := m.node(name, n.header.last)
		if x == nil && m.nodes[name] != nil { // it has no limits now
			x = m.nodes[name]
			x.days = m.cal.at(m.now).at
			x.moveTo(n.header.last)
		}
		if x != nil {
			each(x.owner(p.class), p.epochs[i])
		}
	}
}

// unseen is the state of a node that nobody has used yet.
func (c Config) unseen(node string, now time.Time) (NodeState, error) {
	m := NewModel(c.Scope, now)
	if err := m.Configure(context.Background(), c); err != nil {
		return NodeState{}, err
	}
	n := m.node(node, now.UnixMilli())
	if n == nil {
		return NodeState{}, ErrUnknownNode
	}
	return n.view(n.header.last).nodeState(&m.config), nil
}
