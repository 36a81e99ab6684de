package limiter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// NodeState gives what a node of a path looks like now ("tenant/acme"): what all
// lanes together use of its limits. ErrUnknownNode when it has none.
func (r *Redis) NodeState(ctx context.Context, node string) (NodeState, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.look(ctx)
	if err != nil {
		return NodeState{}, err
	}
	if _, own := c.effective.Nodes[node]; !own {
		switch n, err := r.rdb.Exists(ctx, r.keys.node(node)[1]).Result(); {
		case err != nil:
			return NodeState{}, storeError(err)
		case n == 0: // looking makes no node
			now, err := r.redisNow(ctx)
			if err != nil {
				return NodeState{}, err
			}
			s, err := c.effective.unseen(node, now)
			return c.nodeOrigins(s), err
		}
	}
	v, err := r.viewOf(ctx, c.effective.laneOf(node), r.keys.node(node), node)
	if errors.Is(err, ErrUnknownLane) {
		return NodeState{}, ErrUnknownNode
	}
	if err != nil {
		return NodeState{}, err
	}
	return c.nodeOrigins(v.nodeState(&c.effective)), nil
}

// Nodes gives the nodes that have limits, patterns included, and of the patterns
// those that were seen of late.
func (r *Redis) Nodes(ctx context.Context) ([]string, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	c, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := r.rdb.SMembers(ctx, r.keys.seen).Result()
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	there, err := r.nodesThere(ctx, seen)
	if err != nil {
		return nil, err
	}
	nodes := maps.Clone(c.Nodes)
	for _, node := range there {
		if l, ok := c.limitsOf(node); ok {
			nodes[node] = l
		}
	}
	return slices.Sorted(maps.Keys(nodes)), nil
}

// nodesThere are those that have counters, asked for in one round trip.
func (r *Redis) nodesThere(ctx context.Context, nodes []string) (there []string, err error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	asked := make([]*redis.IntCmd, len(nodes))
	_, err = r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, node := range nodes {
			asked[i] = p.Exists(ctx, r.keys.node(node)[1])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("limiter: %w", err)
	}
	for i, node := range nodes {
		if asked[i].Val() > 0 {
			there = append(there, node)
		}
	}
	return there, nil
}

// nodeCounters adds those of the nodes with a limit by the day or month.
func (r *Redis) nodeCounters(ctx context.Context, c Config, s *Snapshot) error {
	nodes, err := r.Nodes(ctx)
	for _, node := range nodes {
		if !c.nodePlan(node).counts() {
			continue
		}
		v, err := r.viewOf(ctx, c.laneOf(node), r.keys.node(node), node)
		if err != nil && !errors.Is(err, ErrUnknownLane) {
			return err
		}
		s.Counters = append(s.Counters, v.counters()...)
	}
	return err
}

// counts tells whether something has a limit by the day or month, or for ever.
func (p plan) counts() bool {
	return slices.ContainsFunc(p.dims, func(d dim) bool { return d.window.counted() })
}
