package gemini

import (
	"sync"
	"time"
)

// countGate is a limit per sliding minute, kept as the times of what it let
// through.
type countGate struct {
	mu    sync.Mutex
	times []time.Time // a ring of the last admissions, guarded by mu
	next  int         // the oldest, guarded by mu
}

func newCountGate(perMinute int) *countGate {
	return &countGate{times: make([]time.Time, max(1, perMinute))}
}

// take lets one call through, or says how long until there is room.
func (g *countGate) take(now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.times[g.next].Add(time.Minute).Sub(now); !g.times[g.next].IsZero() && wait > 0 {
		return wait
	}
	g.times[g.next] = now
	g.next = (g.next + 1) % len(g.times)
	return 0
}
