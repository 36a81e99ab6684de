package main

import (
	"context"
	"time"
)

// noon is when every turned clock starts. It is no day's or month's end.
var noon = time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)

// grant is a peer's answer to one request.
type grant struct {
	ok    bool
	never bool   // refused for good: asking again is in vain, and the answer says so
	id    string // of the permit, where there are permits
	n     int64
}

// peer is a limiter of one limit per minute, whose clock is an argument.
type peer interface {
	// take asks for n at a moment.
	take(ctx context.Context, at time.Time, n int64) (grant, error)
	// correct says that what was granted was used to another amount. A peer that
	// knows no settlement takes the difference, negative for a refund.
	correct(ctx context.Context, at time.Time, g grant, used int64) error
	close()
}

// entrant is a peer in its usual set-up (burst = rate) by name.
type entrant struct {
	name string
	make func(perMinute int64) (peer, error)
}

// field is everybody who is compared; ours is first.
func (h *harness) field() []entrant {
	return []entrant{
		{"nightshift", h.newOurs},
		{"redis_rate", newRedisRate},
		{"throttled", newThrottled},
		{"gubernator, token bucket", newGubernatorToken},
		{"gubernator, leaky bucket", newGubernatorLeaky},
		{"x/time/rate", newXTime},
	}
}
