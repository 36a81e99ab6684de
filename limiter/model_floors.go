package limiter

import (
	"context"
	"time"
)

// lua/floors.lua.

// SetFloors is Redis.SetFloors on the Model's clock.
func (m *Model) SetFloors(_ context.Context, lane Lane, floors []Floor, until time.Time) error {
	if err := checkFloors(floors, until); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, _, err := m.enter(lane)
	if err != nil {
		return err
	}
	n.learned = learned{}
	if len(floors) > 0 {
		n.learned = newLearned(floors, until)
	}
	n.learnt()
	n.reserves()
	return nil
}

// learnt works out by dim and class what the floors that were learned come to:
// between the least floor and the guarantee, -1 where none counts. It begins with
// their end.
func (n *modelLane) learnt() {
	n.lows = nil
	if len(n.learned.Floors) == 0 {
		return
	}
	n.lows = []int64{n.learned.Until}
	for _, p := range n.plan.dims {
		for i, s := range p.shares {
			low := int64(-1)
			if f, ok := n.learned.find(n.plan.classes[i].Name, p.unit, p.window); ok && s.least >= 0 {
				low = max(s.least, min(f.Amount, s.guarantee))
			}
			n.lows = append(n.lows, low)
		}
	}
}

// low is a class's share with the floor that was learned, while it lasts.
func (n *modelLane) low(d, i int, s share) share {
	if n.lows != nil && n.lows[0] > n.header.last {
		if low := n.lows[1+d*len(n.classes)+i]; low >= 0 {
			s.floor = low
		}
	}
	return s
}
