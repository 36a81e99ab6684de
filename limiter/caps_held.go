package limiter

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// holding is what the open permits of lanes hold of money, by their nodes and the
// lanes themselves. What lapsed is not under way any more.
func (r *Redis) holding(ctx context.Context, lanes []Lane) (map[string]int64, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	permits := make([]*redis.StringSliceCmd, len(lanes))
	_, err := r.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, l := range lanes {
			permits[i] = p.HVals(ctx, r.lane(l).keys[2])
		}
		return nil
	})
	if err != nil {
		return nil, storeError(err)
	}
	held := map[string]int64{}
	for i, l := range lanes {
		for _, text := range permits[i].Val() {
			amounts, nodes, open := readHeld(text)
			if !open {
				continue
			}
			for _, node := range append(nodes, l.String()) {
				held[node] += amounts[MicroUSD]
			}
		}
	}
	return held, nil
}

func (m *Model) holding(_ context.Context, lanes []Lane) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[string]int64{}
	for _, l := range lanes {
		n := m.lanes[l.String()]
		if n == nil {
			continue
		}
		for _, p := range n.permits {
			for _, node := range append(slices.Clone(p.nodes), l.String()) {
				if !p.lapsed {
					held[node] += p.amounts[MicroUSD]
				}
			}
		}
	}
	return held, nil
}

// began is when the day or month of a moment began.
func (r *Redis) began(t time.Time, w Window) time.Time { return r.cal.began(t, w) }

func (m *Model) began(t time.Time, w Window) time.Time { return m.cal.began(t, w) }

func (c *calendar) began(t time.Time, w Window) time.Time {
	if w == Ever {
		return time.UnixMilli(0)
	}
	days := c.at(t).at[:4]
	if w == Month {
		days = c.at(t).at[4:]
	}
	start, _ := period(days, t.UnixMilli())
	return time.UnixMilli(start)
}
