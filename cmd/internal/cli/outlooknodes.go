package cli

import (
	"context"
	"errors"
	"slices"
	"time"

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
func (o outlook) through(node limiter.NodeState, own sharer, rows int64) (end time.Time, limit string, known bool) {
	all := 0.0
	for _, s := range o.runs {
		by := slices.ContainsFunc(s.nodes, func(n limiter.NodeState) bool { return n.Node == node.Node })
		if by && !s.closed {
			all += min(float64(s.rows), s.weight*float64(min(rows, own.rows))/own.weight)
		}
	}
	c := newCourse(limiter.LaneState{Limits: node.Limits}, own.class, o.cost, 0, o.now).from(own.until)
	if c.limit == "" && c.day.limit == "" {
		return o.now, "", true // it has no limit that takes time
	}
	end, known = c.after(all)
	if limit = c.limit; limit == "" {
		limit = c.day.limit
	}
	return end, limit + " of " + node.Node, known
}
