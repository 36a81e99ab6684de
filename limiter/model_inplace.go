package limiter

import (
	"slices"
	"time"
)

// lua/inplace.lua.

const (
	goneMS     = 2000 // after which a caller who did not ask again has gone
	againMS    = 900  // within which it is known that who asks is there
	mostInLine = 128  // callers of a lane who wait in place
)

// modelCaller is a caller who waits in place or, without an id, the last turn that a
// node of a path had.
type modelCaller struct {
	id, leaf, by       string // by: the ledger that is against it; leaf: of a turn, the node's name with all above it
	class              int
	asked, until, ends int64
	number             int64 // grows with each that comes
	began, ended       int64 // of a turn
	amounts            Amounts
}

// gone tells whether a caller did not ask again in time.
func (e *modelCaller) gone(t int64) bool { return e.id != "" && (e.asked+goneMS < t || e.until < t) }

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

// awaited is what the callers of a class wait for, of a ledger.
type awaited struct {
	by    string
	class int
}

// reread lets those go who did not ask again in time.
func (n *modelLane) reread() {
	t := n.header.last
	if slices.ContainsFunc(n.callers, func(e *modelCaller) bool { return e.gone(t) }) {
		n.change(slices.DeleteFunc(slices.Clone(n.callers), func(e *modelCaller) bool { return e.gone(t) }))
	}
}

// change keeps who waits, and what they wait for as others see it.
func (n *modelLane) change(list []*modelCaller) {
	n.callers, n.wants, n.wanting = waiting(list), map[awaited]Amounts{}, n.header.last
	for _, e := range n.callers {
		if e.id != "" {
			key := awaited{e.by, e.class}
			sum := n.wants[key]
			sum.add(e.amounts, 1)
			n.wants[key] = sum
		}
	}
}

// anyone tells whether callers of a class wait, as it was when it was written.
func (n *modelLane) anyone(c *modelClass) bool {
	if n.wanting+goneMS < n.header.last {
		return false
	}
	for key := range n.wants {
		if key.class == c.index {
			return true
		}
	}
	return false
}

// wanted is what the classes above c wait for of dim d, beyond what is left to them
// in any case: nothing when nobody has asked for too long.
func (n *modelLane) wanted(c *modelClass, d int) (sum int64) {
	host, unit, classes := n, n.plan.dims[d].unit, len(n.classes)
	if n.host != nil {
		host = n.host
	}
	if len(host.wants) == 0 || host.wanting+goneMS < host.header.last {
		return 0
	}
	for j := range c.index {
		u, v, want := n.use[d][j], c.reserve[d*classes+j], host.wants[awaited{n.plan.node, j}][unit]
		sum += max(u+want, v) - max(u, v)
	}
	return sum
}

// place is where a request stands among the callers of its class.
type place struct {
	me     *modelCaller
	fresh  *modelCaller       // it has none yet, and would be this one
	list   []*modelCaller     // with fresh in its place
	looked bool               // somebody else of its class may wait, or it does
	before int64              // who come before it
	ahead  map[string]Amounts // what they wait for, by ledger
}

// lookAround finds the request's own place: behind all of its class, if it does not
// wait itself.
func (m *Model) lookAround(n *modelLane, c *modelClass, q Request) (p place) {
	p.looked = true
	n.reread()
	for _, e := range n.callers {
		if e.id != "" && e.id == q.ID && e.class == c.index {
			p.me = e
		}
	}
	p.list = n.callers
	if q.waitMS() > 0 && p.me == nil {
		m.arrive(n, c, q, &p)
	}
	for _, e := range p.list {
		if q.waitMS() > 0 && (e == p.me || e == p.fresh) {
			return p
		}
		if e.id == "" || e == p.me || e.class != c.index {
			continue
		}
		if p.ahead == nil {
			p.ahead = map[string]Amounts{}
		}
		sum := p.ahead[e.by]
		sum.add(e.amounts, 1)
		p.ahead[e.by] = sum
		p.before++
	}
	return p
}

// arrive gives a newcomer its place, in the list as it would be.
func (m *Model) arrive(n *modelLane, c *modelClass, q Request, p *place) {
	p.fresh = &modelCaller{id: q.ID, leaf: q.Path.Leaf(), class: c.index, amounts: q.charged(), number: 1}
	for _, e := range n.callers {
		if e.id != "" {
			p.fresh.number = max(p.fresh.number, e.number+1)
		}
	}
	p.list = m.sorted(n, c, append(slices.Clone(n.callers), p.fresh))
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
	n.change(append(rest, mine...))
	n.change(m.sorted(n, c, n.callers))
}

// leavePlace takes a caller out by the id of its request.
func (n *modelLane) leavePlace(id string) {
	n.reread()
	if rest := slices.DeleteFunc(slices.Clone(n.callers), func(e *modelCaller) bool { return e.id != "" && e.id == id }); len(rest) < len(n.callers) {
		n.change(rest)
	}
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
	me, list := p.me, n.callers
	if me == nil {
		me, list = p.fresh, p.list
	}
	if by := no.by(); me == p.fresh || me.by != by || me.ends != retry || t-me.asked >= againMS {
		me.by, me.asked, me.until, me.ends = by, t, t+q.waitMS(), retry
		n.change(list)
	}
	return no.denied(retry, p.before+1, detail)
}

// by is the ledger that is against a caller.
func (no *refusal) by() string {
	switch {
	case no.reason == ReasonPaused:
		return "!"
	case no.class != nil:
		return no.class.n.plan.node
	}
	return ""
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
