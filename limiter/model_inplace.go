package limiter

import (
	"slices"
	"time"
)

// lua/inplace.lua.

const (
	goneMS     = 2000 // after which a caller who did not ask again has gone
	mostInLine = 256  // callers of a lane who wait in place
)

// modelCaller is a caller who waits in place or, without an id, the last turn that a
// node of a path had.
type modelCaller struct {
	id, leaf, by       string // by: the ledger that is against it; leaf: of a turn, the node's name with all above it
	class              int
	asked, until, ends int64
	began, ended       int64 // of a turn
	amounts            Amounts
}

// waiting leaves out the last turns of classes of which nobody waits.
func waiting(list []*modelCaller) (out []*modelCaller) {
	any := map[int]bool{}
	for _, e := range list {
		any[e.class] = any[e.class] || e.id != ""
	}
	for _, e := range list {
		if any[e.class] {
			out = append(out, e)
		}
	}
	return out
}

// reread lets those go who did not ask again in time.
func (n *modelLane) reread(t int64) {
	n.callers = waiting(slices.DeleteFunc(slices.Clone(n.callers), func(e *modelCaller) bool {
		return e.id != "" && (e.asked+goneMS < t || e.until < t)
	}))
}

// wanted is what the classes above c wait for of dim d, beyond what is left to them
// in any case.
func (n *modelLane) wanted(c *modelClass, d int) (sum int64) {
	host, unit, classes := n, n.plan.dims[d].unit, len(n.classes)
	if n.host != nil {
		host = n.host
	}
	var want [32]int64
	for _, e := range host.callers {
		if e.id != "" && e.by == n.plan.node {
			want[e.class] += e.amounts[unit]
		}
	}
	for j := range c.index {
		u, v := n.use[d][j], c.reserve[d*classes+j]
		sum += max(u+want[j], v) - max(u, v)
	}
	return sum
}

// place is where a request stands among the callers of its class.
type place struct {
	me     *modelCaller
	before int64              // who come before it
	ahead  map[string]Amounts // what they wait for, by ledger
}

// lookAround finds the request's own place.
func (m *Model) lookAround(n *modelLane, c *modelClass, q Request) (p place) {
	list := m.rivals(n, c, q, &p)
	if len(list) > 1 {
		list = n.turnsHad(c).order(list, 0, "")
	}
	for _, r := range list {
		if q.waitMS() > 0 && r.e == p.me {
			return p
		}
		if r.e == p.me {
			continue
		}
		if p.ahead == nil {
			p.ahead = map[string]Amounts{}
		}
		sum := p.ahead[r.e.by]
		sum.add(r.e.amounts, 1)
		p.ahead[r.e.by] = sum
		p.before++
	}
	return p
}

// served notes the turns that the nodes of a leaf had, while others of its class wait;
// what is past at their levels is forgotten.
func (m *Model) served(n *modelLane, c *modelClass, q Request, p place) {
	had := n.turnsHad(c)
	names, weights := m.nodesOfLeaf(q.Path.Leaf())
	var mine []*modelCaller
	level := ""
	for i, name := range names {
		at := max(had.ended[name], had.newest[level])
		mine = append(mine, &modelCaller{leaf: name, class: c.index, began: at, ended: at + n.takes(q.charged())/weights[i]})
		had.newest[level], level = at, name
	}
	rest := slices.DeleteFunc(slices.Clone(n.callers), func(e *modelCaller) bool {
		turn := e.id == "" && e.class == c.index
		return e == p.me || turn && (slices.Contains(names, e.leaf) || e.ended <= had.newest[levelOf(e.leaf)])
	})
	n.callers = waiting(append(rest, mine...))
}

// leavePlace takes a caller out by the id of its request.
func (n *modelLane) leavePlace(id string) {
	n.callers = waiting(slices.DeleteFunc(slices.Clone(n.callers), func(e *modelCaller) bool { return e.id != "" && e.id == id }))
}

// mayEase tells whether a refusal may end before it must: calls in flight end, and
// settle below their estimates; those who are before it leave.
func (no *refusal) mayEase() bool {
	if no.dim < 0 {
		return no.reason == ReasonTurn
	}
	p := no.class.n.plan.dims[no.dim]
	return p.window == Held || p.window.sliding() && (p.unit != Requests || no.reason == ReasonTurn)
}

// hopeless tells whether a caller would wait in vain for what ends at retry.
func (n *modelLane) hopeless(q Request, p place, no *refusal, t int64, closed bool, retry int64) bool {
	waits := 0
	for _, e := range n.callers {
		if e.id != "" {
			waits++
		}
	}
	if p.me == nil && waits >= mostInLine {
		return true
	}
	return retry > t+q.waitMS() && (closed || !no.mayEase())
}

// standHere answers a refused caller who waits in place: it gets or keeps its place
// while there is hope.
func (m *Model) standHere(n *modelLane, c *modelClass, q Request, p place, no *refusal, t, ends int64, detail string) answer {
	retry := no.again(p.me, t, ends)
	if n.hopeless(q, p, no, t, ends != 0, retry) {
		n.leavePlace(q.ID)
		return no.denied(retry, 0, detail)
	}
	me := p.me
	if me == nil {
		me = &modelCaller{id: q.ID, leaf: q.Path.Leaf(), class: c.index, amounts: q.charged()}
		n.callers = append(n.callers, me)
	}
	me.by = ""
	switch {
	case no.reason == ReasonPaused:
		me.by = "!"
	case no.class != nil:
		me.by = no.class.n.plan.node
	}
	me.asked, me.until, me.ends = t, t+q.waitMS(), retry
	return no.denied(retry, p.before+1, detail)
}

// again is when it is worth asking again: what a caller was told holds until then.
func (no *refusal) again(me *modelCaller, t, ends int64) int64 {
	switch {
	case ends < 0:
		return t + 30000
	case ends > 0:
		return ends
	case me != nil && me.ends > t:
		return me.ends
	case no.dim >= 0:
		return no.when(t)
	}
	return t + 1000
}

func (e *modelCaller) view(class string) InPlace {
	return InPlace{ID: e.id, Class: class, Leaf: e.leaf, Until: time.UnixMilli(e.until), Node: ledgerName(e.by), Amounts: e.amounts}
}
