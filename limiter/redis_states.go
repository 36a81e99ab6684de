package limiter

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// viewsAtOnce bounds how many states are viewAsk for in one go: Redis serves nobody else
// meanwhile, some 2 ms.
const viewsAtOnce = 25

// viewAsk is whose state is wanted: a lane's, or a node's.
type viewAsk struct {
	lane Lane
	keys []string
	node string
}

// States is State of several lanes, in their order and in few round trips. One that
// went away meanwhile is left out.
func (r *Redis) States(ctx context.Context, lanes []Lane) ([]LaneState, error) {
	asks := make([]viewAsk, len(lanes))
	for i, l := range lanes {
		asks[i] = viewAsk{lane: l, keys: r.lane(l).keys}
	}
	var views []laneView
	err := r.views(ctx, asks, func(_ int, v laneView, err error) error {
		if errors.Is(err, ErrUnknownLane) {
			return nil
		}
		views = append(views, v)
		return err
	})
	if err != nil || len(views) == 0 {
		return []LaneState{}, err
	}
	pauses, throttles, err := r.holds(ctx)
	if err != nil {
		return nil, err
	}
	breakers, err := r.Breakers(ctx)
	if err != nil {
		return nil, err
	}
	c, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]LaneState, len(views))
	for i := range views {
		views[i].breakers = breakers
		views[i].know(c.effective, pauses, throttles)
		out[i] = c.origins(views[i].state())
	}
	return out, nil
}

// NodeStates is NodeState of several; those that nothing is known of are left out.
func (r *Redis) NodeStates(ctx context.Context, nodes []string) ([]NodeState, error) {
	c, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := r.nodesThere(ctx, slices.DeleteFunc(slices.Clone(nodes), func(node string) bool {
		_, own := c.effective.Nodes[node]
		return own
	}))
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, node := range seen {
		there[node] = true
	}
	now, err := r.redisNow(ctx)
	if err != nil {
		return nil, err
	}
	states, known := make([]NodeState, len(nodes)), make([]bool, len(nodes))
	var asks []viewAsk
	var places []int
	for i, node := range nodes {
		if _, own := c.effective.Nodes[node]; own || there[node] {
			asks, places = append(asks, viewAsk{c.effective.laneOf(node), r.keys.node(node), node}), append(places, i)
			continue
		}
		switch s, err := c.effective.unseen(node, now); { // looking makes no node
		case err == nil:
			states[i], known[i] = c.nodeOrigins(s), true
		case !errors.Is(err, ErrUnknownNode):
			return nil, err
		}
	}
	err = r.views(ctx, asks, func(i int, v laneView, err error) error {
		if errors.Is(err, ErrUnknownLane) {
			return nil // it went away meanwhile
		}
		if err == nil {
			states[places[i]], known[places[i]] = c.nodeOrigins(v.nodeState(&c.effective)), true
		}
		return err
	})
	var out []NodeState
	for i, s := range states {
		if known[i] {
			out = append(out, s)
		}
	}
	return out, err
}

// views asks for many states. The first goes alone, which has Redis know the script:
// a pipeline cannot send it when it is missing.
func (r *Redis) views(ctx context.Context, asks []viewAsk, take func(i int, v laneView, err error) error) error {
	if len(asks) == 0 {
		return nil
	}
	v, err := r.viewOnce(ctx, asks[0])
	if err := take(0, v, err); err != nil {
		return err
	}
	for from := 1; from < len(asks); from += viewsAtOnce {
		some := asks[from:min(from+viewsAtOnce, len(asks))]
		got, err := r.viewsPiped(ctx, some)
		if err != nil {
			return err
		}
		for i, a := range some {
			v, err := r.readPiped(a, got[i])
			if err := take(from+i, v, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Redis) viewOnce(ctx context.Context, a viewAsk) (laneView, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	return r.viewOf(ctx, a.lane, a.keys, a.node)
}

func (r *Redis) viewsPiped(ctx context.Context, asks []viewAsk) ([]*redis.Cmd, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	got := make([]*redis.Cmd, len(asks))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, a := range asks {
			if a.lane.Scope() != r.scope {
				return r.foreign(a.lane)
			}
			got[i] = p.EvalSha(ctx, stateScript().Hash(), a.keys, r.clockArg(), r.cal.at(r.now()).text, a.node)
		}
		return nil
	})
	if err != nil {
		return nil, storeError(err)
	}
	return got, nil
}

func (r *Redis) readPiped(a viewAsk, cmd *redis.Cmd) (laneView, error) {
	got, err := cmd.Slice()
	if err != nil {
		return laneView{}, storeError(err)
	}
	head, err := r.head(a.lane, got)
	if err != nil {
		return laneView{}, err
	}
	return viewFrom(a, head)
}
