package main

import (
	"context"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
)

// redisRate is a GCRA in one script: burst = rate, as redis_rate.PerMinute gives it.
type redisRate struct {
	*turned
	limiter *redis_rate.Limiter
	limit   redis_rate.Limit
}

func newRedisRate(perMinute int64) (peer, error) {
	c, err := newTurned(noon)
	if err != nil {
		return nil, err
	}
	return &redisRate{turned: c, limiter: redis_rate.NewLimiter(c.rdb), limit: redis_rate.PerMinute(int(perMinute))}, nil
}

// take never says that a request is refused for good: RetryAfter is always a time
// after which one may ask again.
func (p *redisRate) take(ctx context.Context, at time.Time, n int64) (grant, error) {
	p.set(at)
	r, err := p.limiter.AllowN(ctx, "key", p.limit, int(n))
	if err != nil {
		return grant{}, err
	}
	return grant{ok: r.Allowed != 0, n: n}, nil
}

func (p *redisRate) correct(ctx context.Context, at time.Time, g grant, used int64) error {
	_, err := p.take(ctx, at, used-g.n)
	return err
}

// throttledPeer is throttled's GCRA on its Redis store; MaxBurst is what may come
// beside the one that is always allowed.
type throttledPeer struct {
	*turned
	limiter *throttled.GCRARateLimiterCtx
}

func newThrottled(perMinute int64) (peer, error) {
	c, err := newTurned(noon)
	if err != nil {
		return nil, err
	}
	store, err := goredisstore.NewCtx(c.rdb, "throttled:")
	if err != nil {
		return nil, err
	}
	quota := throttled.RateQuota{MaxRate: throttled.PerMin(int(perMinute)), MaxBurst: int(perMinute) - 1}
	g, err := throttled.NewGCRARateLimiterCtx(store, quota)
	return &throttledPeer{turned: c, limiter: g}, err
}

func (p *throttledPeer) take(ctx context.Context, at time.Time, n int64) (grant, error) {
	p.set(at)
	limited, r, err := p.limiter.RateLimitCtx(ctx, "key", int(n))
	return grant{ok: !limited, never: limited && r.RetryAfter < 0, n: n}, err
}

func (p *throttledPeer) correct(ctx context.Context, at time.Time, g grant, used int64) error {
	_, err := p.take(ctx, at, used-g.n)
	return err
}
