package limiter

import (
	"context"
	"time"
)

// lua/cool.lua.

// Cool is Redis.Cool on the Model's clock.
func (m *Model) Cool(_ context.Context, l Lane, d time.Duration, reason Reason, detail string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d <= 0 {
		return nil
	}
	n, t, err := m.enter(l)
	if err != nil {
		return err
	}
	x := newRest(l, d, reason, detail)
	ends := t + x.ms
	if ends <= n.header.cool {
		return nil
	}
	another := n.header.cool <= t || n.reason != x.reason || n.detail != x.detail
	n.header.cool, n.reason, n.detail = ends, x.reason, x.detail
	if e, noted := x.event(ends); noted && another {
		m.note(e)
	}
	return nil
}
