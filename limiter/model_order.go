package limiter

import (
	"cmp"
	"slices"
	"strings"
)

// lua/inplace.lua: in which order callers of a class come.

// rival is a caller on its way into that order: the nth to arrive.
type rival struct {
	names   []string // of its nodes, with all above them
	weights []int64
	takes   int64
	n       int64
	at      int64
	e       *modelCaller
}

// turnsHad are the last turns of a class: where each node's ended, and where the newest
// of each level began.
type turnsHad struct{ ended, newest map[string]int64 }

func (n *modelLane) turnsHad(c *modelClass) turnsHad {
	had := turnsHad{map[string]int64{}, map[string]int64{}}
	for _, e := range n.callers {
		if e.id == "" && e.class == c.index {
			level := levelOf(e.leaf)
			had.ended[e.leaf], had.newest[level] = e.ended, max(had.newest[level], e.began)
		}
	}
	return had
}

// levelOf is the level that a node is at: the name of what is above it.
func levelOf(name string) string {
	return name[:strings.LastIndexByte(strings.TrimSuffix(name, "/"), '/')+1]
}

// nodesOfLeaf gives what a leaf's nodes are called, with all above them, and what they
// weigh. Run and priority are one.
func (m *Model) nodesOfLeaf(leaf string) (names []string, weights []int64) {
	parts, w := m.level(leaf)
	parts[4], w[4] = parts[4]+" "+parts[5], w[4]*w[5]
	name := ""
	for i := range 5 {
		name += parts[i] + "/"
		names = append(names, name)
	}
	return names, w[:5]
}

// takes is how far a call moves a turn on, before weights.
func (n *modelLane) takes(a Amounts) int64 { return n.cost(a) * 1000 }

// order puts callers in the order in which they come, from a level down.
func (had turnsHad) order(list []*rival, depth int, level string) []*rival {
	if depth > 4 || len(list) < 2 {
		return list
	}
	var names []string
	by := map[string][]*rival{}
	for _, r := range list {
		name := r.names[depth]
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], r)
	}
	if len(names) == 1 {
		return had.order(list, depth+1, names[0])
	}
	return had.merge(names, by, depth, level)
}

// merge puts the callers of a level's nodes in order.
func (had turnsHad) merge(names []string, by map[string][]*rival, depth int, level string) (all []*rival) {
	for _, name := range names {
		at := max(had.ended[name], had.newest[level])
		for _, r := range had.order(by[name], depth+1, name) {
			r.at = at
			at += r.takes / r.weights[depth]
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y *rival) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.n, y.n)) })
	return all
}

// sorted puts the callers of a class in order, and all others before them.
func (m *Model) sorted(n *modelLane, c *modelClass, list []*modelCaller) (out []*modelCaller) {
	var of []*rival
	for _, e := range list {
		if e.id == "" || e.class != c.index {
			out = append(out, e)
			continue
		}
		r := &rival{takes: n.takes(e.amounts), n: e.number, e: e}
		r.names, r.weights = m.nodesOfLeaf(e.leaf)
		of = append(of, r)
	}
	for _, r := range n.turnsHad(c).order(of, 0, "") {
		out = append(out, r.e)
	}
	return out
}
