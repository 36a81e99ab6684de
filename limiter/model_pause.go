package limiter

import (
	"context"
	"maps"
)

// lua/pause.lua.

// Pause is Redis.Pause on the Model's clock.
func (m *Model) Pause(_ context.Context, p Pause) error {
	if err := p.check(m.scope); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.Since.IsZero() {
		p.Since = m.now
	}
	m.pauses[p.field()+"\n"+p.Reason] = p
	m.tidy()
	return nil
}

// Lift is Redis.Lift on the Model's clock.
func (m *Model) Lift(_ context.Context, target Pause, reason string) error {
	target.Reason = reason
	if err := target.check(m.scope); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pauses, target.field()+"\n"+reason)
	m.tidy()
	return nil
}

// Resume is Redis.Resume on the Model's clock.
func (m *Model) Resume(ctx context.Context, class, reason string) error {
	return m.Lift(ctx, Pause{Class: class}, reason)
}

// Throttle is Redis.Throttle on the Model's clock.
func (m *Model) Throttle(_ context.Context, t Throttle) error {
	if err := t.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Since.IsZero() {
		t.Since = m.now
	}
	m.throttles[t.field()+"\n"+t.Reason] = t
	m.tidy()
	return nil
}

// Unthrottle is Redis.Unthrottle on the Model's clock.
func (m *Model) Unthrottle(_ context.Context, class, reason string) error {
	t := Throttle{Class: class, Reason: reason, ToPPM: million}
	if err := t.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.throttles, t.field()+"\n"+reason)
	m.tidy()
	return nil
}

// tidy forgets what has ended.
func (m *Model) tidy() {
	now := m.now.UnixMilli()
	maps.DeleteFunc(m.pauses, func(_ string, p Pause) bool { return ended(p.ends(), now) })
	maps.DeleteFunc(m.throttles, func(_ string, t Throttle) bool { return ended(t.ends(), now) })
}

// Pauses is Redis.Pauses on the Model's clock.
func (m *Model) Pauses(context.Context) ([]Pause, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pausesLocked(), nil
}

// Throttles is Redis.Throttles on the Model's clock.
func (m *Model) Throttles(context.Context) ([]Throttle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.throttlesLocked(), nil
}

func (m *Model) pausesLocked() []Pause {
	out := []Pause{}
	for _, p := range m.pauses {
		out = append(out, p)
	}
	return holding(out, m.now)
}

func (m *Model) throttlesLocked() []Throttle {
	out := []Throttle{}
	for _, t := range m.throttles {
		out = append(out, t)
	}
	return slowing(out, m.now)
}
