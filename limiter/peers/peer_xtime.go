package main

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// xtime is the token bucket of one process.
type xtime struct{ limiter *rate.Limiter }

func newXTime(perMinute int64) (peer, error) {
	return &xtime{rate.NewLimiter(rate.Limit(float64(perMinute)/60), int(perMinute))}, nil
}

// take tells a request that is too large by Burst, as WaitN does.
func (p *xtime) take(_ context.Context, at time.Time, n int64) (grant, error) {
	ok := p.limiter.AllowN(at, int(n))
	return grant{ok: ok, never: !ok && int(n) > p.limiter.Burst(), n: n}, nil
}

func (p *xtime) correct(ctx context.Context, at time.Time, g grant, used int64) error {
	_, err := p.take(ctx, at, used-g.n)
	return err
}

func (p *xtime) close() {}
