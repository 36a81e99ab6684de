package limiter

import (
	"context"
	"maps"
	"slices"
)

// lua/scope.lua and configure.lua.

// Configure is Redis.Configure on the Model's clock.
func (m *Model) Configure(_ context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Scope != m.scope {
		return wrong("scope", "%s; this limiter is for %s", c.Scope, m.scope)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := m.settings.configured(c)
	if err != nil {
		return err
	}
	before := m.settings.file
	m.enforce(next)
	m.noteAll(changes(before, c))
	return nil
}

// enforce gives the lanes the limits of a configuration.
func (m *Model) enforce(s settings) {
	c := s.effective
	m.settings, m.config, m.weights = s, c, c.weights()
	m.rev++
	m.cal.setZone(c.monthZone())
	for name, n := range m.lanes {
		n.closed = c.laneAt(name) < 0
	}
	t := m.now.UnixMilli()
	for _, l := range c.Lanes {
		m.reshape(m.lanes, l.Lane.String(), c.lanePlan(l), t)
	}
	m.configureNodes(t)
}

// noteAll is note of lua/note.lua's callers: what was changed, against what was lately.
func (m *Model) noteAll(events []Event) {
	recent := m.eventsLocked(m.now.Add(-disagreement), 0)
	for _, e := range events {
		m.note(e.against(recent))
	}
}

func (m *Model) configureNodes(t int64) {
	for _, name := range slices.Sorted(maps.Keys(m.config.Nodes)) {
		times := int64(0)
		if n := m.nodes[name]; n != nil {
			times = n.times
		}
		m.reshape(m.nodes, name, m.config.nodePlan(name), t)
		m.nodes[name].times = times + 1
	}
	for name, n := range m.nodes {
		if _, own := m.config.Nodes[name]; !own && n.from == 0 && !n.closed {
			n.moveTo(t)
			n.closed = true
			n.times++
		}
	}
}

// reshape gives a ledger limits and classes, and keeps what was used.
func (m *Model) reshape(ledgers map[string]*modelLane, name string, p plan, t int64) {
	days := m.cal.at(m.now).at
	old := ledgers[name]
	n := &modelLane{m: m, plan: p, days: days, header: header{last: t, slot: t / 500, slot10: t / 5000},
		permits: map[string]*modelPermit{}, leases: map[string]int64{}, tickets: map[string]*modelTicket{},
		leaves: map[string]*modelLeaf{}, names: map[int64]string{}, shadowed: map[Limit]int64{}}
	n.fresh()
	if old != nil {
		old.days = days
		t = old.moveTo(t)
		n.header, n.reason, n.detail = old.header, old.reason, old.detail
		n.permits, n.leases, n.tickets, n.leaves, n.names, n.lastID = old.permits, old.leases, old.tickets, old.leaves, old.names, old.lastID
		n.shadowed, n.learned, n.lowered, n.short = old.shadowed, old.learned, old.lowered, old.short
		n.carry(old, t)
	}
	n.calendar(t)
	n.learnt()
	n.ease(t)
	n.reserves()
	ledgers[name] = n
}

func (n *modelLane) fresh() {
	dims, classes := len(n.plan.dims), len(n.plan.classes)
	n.squares, n.came = make([]float64, dims), make([]int64, dims)
	for range dims {
		n.use, n.peaks = append(n.use, make([]int64, classes)), append(n.peaks, make([]int64, classes))
	}
	for i, c := range n.plan.classes {
		n.classes = append(n.classes, &modelClass{Class: c, n: n, index: i, least: million, open: make([]int64, dims), pace: make([]int64, dims)})
	}
}

// carry takes the old lane's use over: by name, what no class takes to the lowest.
func (n *modelLane) carry(old *modelLane, t int64) {
	n.was = old.was
	for d, p := range n.plan.dims {
		from := slices.IndexFunc(old.plan.dims, func(o dim) bool { return o.unit == p.unit && o.window == p.window })
		if from < 0 {
			n.came[d] = t
			continue
		}
		n.came[d] = old.came[from]
		n.squares[d] = old.squares[from]
		for _, was := range old.classes {
			c := n.owner(was.Name)
			n.use[d][c.index] += old.use[from][was.index]
			n.peaks[d][c.index] += old.peaks[from][was.index]
			c.open[d] += was.open[from]
			c.pace[d] = max(c.pace[d], pacedOn(p, old.plan.dims[from], was.pace[from], t))
			n.carrySlots(c, was, d, from)
		}
	}
	for _, was := range old.classes {
		if c := n.class(was.Name); c != nil {
			c.line = was.line
		}
	}
}

func (n *modelLane) carrySlots(c, was *modelClass, d, from int) {
	for win := range was.slots {
		for i, v := range was.slots[win] {
			if v == nil {
				continue
			}
			if c.slots[win][i] == nil {
				c.slots[win][i] = make([]int64, len(n.plan.dims))
			}
			c.slots[win][i][d] += v[from]
		}
	}
}

// pacedOn takes a pace over; where another limit holds now, what was before it is
// forgiven: a pace of a smaller limit would hold the larger one back for long.
func pacedOn(now, was dim, pace, t int64) int64 {
	if now.limit == was.limit && now.shadow == was.shadow {
		return pace
	}
	return min(pace, t*1000)
}
