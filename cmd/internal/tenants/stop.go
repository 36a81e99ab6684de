package tenants

import (
	"context"
	"maps"
	"time"
)

// StopReason is the reason on record of a limit that an emergency stop set.
const StopReason = "emergency stop"

// stopRPM is the least that a limit of requests can be.
const stopRPM = 1

// stopped are terms under an emergency stop.
func (t Terms) stopped() Terms {
	t.Limits = maps.Clone(t.Limits)
	if t.Limits == nil {
		t.Limits = Limits{}
	}
	t.Limits["rpm"] = new(int64(stopRPM))
	return t
}

// Stop holds all calls of a tenant, team or key to one a minute until it is lifted.
// What its limit was before comes back then. Stopping twice changes nothing.
func (b *Book) Stop(ctx context.Context, by, node, reason string) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	s, err := b.state(ctx, node)
	if err != nil || s.rec.Stop != nil {
		return err
	}
	rec := s.rec.next(by, b.now())
	n, set := s.terms.Limits["rpm"]
	rec.Stop = &stopped{At: b.now().UTC().Truncate(time.Second), By: by, Reason: reason, Set: set, RPM: n}
	return b.commit(ctx, s, &rec, s.terms.stopped(), by, StopReason)
}

// Lift ends an emergency stop. A *ConflictError says that there is none.
func (b *Book) Lift(ctx context.Context, by, node string) error {
	s, err := b.state(ctx, node)
	if err != nil {
		return err
	}
	if s.rec.Stop == nil {
		return conflict("%s is not stopped; nothing was changed", node)
	}
	rec := s.rec.next(by, b.now())
	rec.Stop = nil
	return b.commit(ctx, s, &rec, s.terms, by, "")
}

// IsStopped says whether an emergency stop holds.
func (b *Book) IsStopped(ctx context.Context, node string) (bool, error) {
	s, err := b.state(ctx, node)
	return s.rec.Stop != nil, err
}
