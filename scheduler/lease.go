package scheduler

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/lease.lua
	leaseLua string
	//go:embed lua/release.lua
	releaseLua string

	leaseScript   = redis.NewScript(leaseLua)
	releaseScript = redis.NewScript(releaseLua)
)

// DefaultTTL is how long a lease holds without renewal. With a try every
// quarter of it, a standby takes over from a killed leader within 7.5 s.
const DefaultTTL = 6 * time.Second

// Lease makes one process of many the leader.
type Lease struct {
	Redis redis.UniversalClient
	Name  string        // what is led: "sweeper"
	Owner string        // this process; no two may use the same
	TTL   time.Duration // default DefaultTTL
}

// Lead waits for the lease and runs lead under it, again and again, until the
// context ends. The context given to lead ends before the lease can have run
// out, also when Redis is away or this process was stopped for a while; the
// fence grows with each new leader, so that a write can carry it and an older
// one can be refused. When lead returns early the lease is kept and lead is
// not run again: a nil return gives it up at the end only.
func (l Lease) Lead(ctx context.Context, lead func(ctx context.Context, fence int64)) {
	l.TTL = cmp.Or(l.TTL, DefaultTTL)
	for ctx.Err() == nil {
		asked := time.Now()
		if fence, err := l.take(ctx); err == nil && fence > 0 {
			l.hold(ctx, asked, fence, lead)
		}
		pause(ctx, l.TTL/4)
	}
}

// take asks for the lease or for its renewal. A hanging Redis is given up
// before the lease could end unnoticed.
func (l Lease) take(ctx context.Context) (fence int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.TTL/4)
	defer cancel()
	fence, err = leaseScript.Run(ctx, l.Redis, leaseKeys(l.Name), l.Owner, l.TTL.Milliseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("lease %s: %w", l.Name, err)
	}
	return fence, nil
}

// hold runs lead while the lease is renewed in time. Time counts from before
// each request, so that we always end first.
func (l Lease) hold(ctx context.Context, asked time.Time, fence int64, lead func(context.Context, int64)) {
	ctx, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lead(ctx, fence)
	}()
	l.renew(ctx, asked, fence)
	stop(errLost)
	<-done
	l.release()
}

// errLost is why a leader's context ended while its process goes on.
var errLost = errors.New("the lease was lost")

// renew returns when the context ends or the lease is, or may be, lost.
func (l Lease) renew(ctx context.Context, asked time.Time, fence int64) {
	for safe := asked.Add(l.TTL * 3 / 4); ; {
		pause(ctx, l.TTL/4)
		now := time.Now()
		switch got, err := l.take(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil && got == fence:
			safe = now.Add(l.TTL * 3 / 4)
		case err == nil: // somebody else's by now, or ours anew: a gap either way
			return
		}
		if time.Now().After(safe) {
			return
		}
	}
}

// release lets a standby in at once.
func (l Lease) release() {
	ctx, cancel := context.WithTimeout(context.Background(), l.TTL/4)
	defer cancel()
	_ = releaseScript.Run(ctx, l.Redis, leaseKeys(l.Name)[:1], l.Owner).Err() // otherwise it runs out
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
