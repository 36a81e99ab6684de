package limiter

import (
	"context"
	"slices"
	"time"
)

// holding is what the open permits of a lane hold of money, by their nodes and the
// lane itself. What lapsed is not under way any more.
func (r *Redis) holding(ctx context.Context, l Lane) (map[string]int64, error) {
	ctx, cancel := r.timed(ctx)
	defer cancel()
	all, err := r.rdb.HVals(ctx, r.lane(l).keys[2]).Result()
	if err != nil {
		return nil, storeError(err)
	}
	held := map[string]int64{}
	for _, text := range all {
		amounts, nodes, open := readHeld(text)
		if !open {
			continue
		}
		for _, node := range append(nodes, l.String()) {
			held[node] += amounts[MicroUSD]
		}
	}
	return held, nil
}

func (m *Model) holding(_ context.Context, l Lane) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[string]int64{}
	if n := m.lanes[l.String()]; n != nil {
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
