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
	n.learned = newLearned(floors, until)
	return nil
}
