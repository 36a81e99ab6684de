package limiter

import (
	"context"
	"time"
)

// lua/note.lua.

// Note is Redis.Note on the Model's clock.
func (m *Model) Note(_ context.Context, e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(e)
	return nil
}

func (m *Model) note(e Event) {
	at := m.now.UnixMilli()
	if n := len(m.events); n > 0 {
		at = max(at, m.events[n-1].At.UnixMilli())
	}
	e.At, e.Text = time.UnixMilli(at), oneLine(e.Text)
	m.events = append(m.events, e)
	m.events = m.events[max(0, len(m.events)-keptEvents):]
}

// Events is Redis.Events on the Model's clock.
func (m *Model) Events(_ context.Context, since time.Time, n int) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.eventsLocked(since, n), nil
}

func (m *Model) eventsLocked(since time.Time, n int) []Event {
	out := []Event{}
	for _, e := range m.events {
		if e.At.UnixMilli() >= since.UnixMilli() {
			out = append(out, e)
		}
	}
	if n > 0 {
		out = out[max(0, len(out)-n):]
	}
	return out
}
