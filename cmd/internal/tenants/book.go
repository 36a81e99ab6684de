package tenants

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/cmd/internal/kept"
	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// Book keeps the tenants of one provider project. Redis, Scope, Limiter and Keys must
// be set. It is safe for concurrent use.
type Book struct {
	Redis    redis.UniversalClient
	Scope    limiter.Scope
	Limiter  *limiter.Redis
	Keys     *gateway.Keys
	Classes  []string         // that keys may be of, from the highest down
	Features []string         // that keys may name; none means any
	Zone     *time.Location   // of the days that use is counted by; nil means America/Los_Angeles
	Now      func() time.Time // nil means time.Now
	// Ready is called before the first limit is set, where no process has brought the
	// configuration yet. Nil does nothing.
	Ready func(context.Context) error

	seen kept.Look[*whole]
}

func (b *Book) now() time.Time {
	if b.Now == nil {
		return time.Now()
	}
	return b.Now()
}

func (b *Book) zone() *time.Location {
	if b.Zone != nil {
		return b.Zone
	}
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		return time.UTC
	}
	return pacific
}

// ready lets limits be set before any process ran.
func (b *Book) ready(ctx context.Context) error {
	if b.Ready == nil {
		return nil
	}
	known, err := b.Limiter.Configured(ctx)
	if err != nil || len(known.Classes) > 0 {
		return err
	}
	return b.Ready(ctx)
}
