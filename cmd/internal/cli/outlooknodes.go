package cli

import (
	"context"
	"errors"
	"slices"

	"nightshift/limiter"
)

// onTheWay gives open runs the nodes whose limits their rows must fit beside those
// of the lane.
func (b *backend) onTheWay(ctx context.Context, runs []runStatus) error {
	c, err := b.lim.Effective(ctx)
	if err != nil || len(c.Nodes) == 0 {
		return err
	}
	seen := map[string]limiter.NodeState{}
	for i := range runs {
		r := &runs[i]
		if r.counts.Open() == 0 {
			continue
		}
		for _, node := range c.NodesOf(r.path, r.Feature) {
			if _, ok := seen[node]; !ok {
				s, err := b.lim.NodeState(ctx, node)
				if err != nil && !errors.Is(err, limiter.ErrUnknownNode) {
					return err
				}
				seen[node] = s
			}
			r.nodes = append(r.nodes, seen[node])
		}
	}
	return nil
}

// through is when the first so many rows of a run will have come through a node on
// its way, and what decides it. Other runs that go by the node share it.
func (o outlook) through(node limiter.NodeState, own sharer, rows int64) (forecast, bool) {
	c := newCourse(limiter.LaneState{Limits: node.Limits}, own.class, o.cost, 0, o.now).from(own.until).through(own.gates...)
	if c.limit == "" && c.day.limit == "" {
		return forecast{}, true // it has no limit that takes time
	}
	c.swift = true // how fast rows come is the lane's to say
	f, known := c.forecast(o.ahead(own, rows, func(s sharer) bool {
		return slices.ContainsFunc(s.nodes, func(n limiter.NodeState) bool { return n.Node == node.Node })
	}))
	f.limit += " of " + node.Node
	return f, known
}
