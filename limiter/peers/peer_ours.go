package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"

	"github.com/redis/go-redis/v9"
)

// ours is a lane with one limit and one class, on a real Redis and a clock of its own.
type ours struct {
	r    *limiter.Redis
	lane limiter.Lane
	now  time.Time
	n    int
}

func (h *harness) newOurs(perMinute int64) (peer, error) {
	o := &ours{now: noon}
	var err error
	o.r, o.lane, err = h.lane(lanePlan{
		limits:  limiter.Limits{RPM: perMinute},
		classes: []limiter.Class{{Name: "interactive"}},
		now:     func() time.Time { return o.now },
	})
	return o, err
}

func (o *ours) take(ctx context.Context, at time.Time, n int64) (grant, error) {
	o.now = at
	o.n++
	q := limiter.Request{ID: fmt.Sprint("p", o.n), Lane: o.lane, Class: "interactive", Amounts: limiter.Amounts{limiter.Requests: n}}
	_, err := o.r.Acquire(ctx, q)
	if d, ok := errors.AsType[*limiter.Denied](err); ok {
		return grant{never: d.Permanent}, nil
	}
	return grant{ok: err == nil, id: q.ID, n: n}, err
}

func (o *ours) correct(ctx context.Context, at time.Time, g grant, used int64) error {
	o.now = at
	s := limiter.Settlement{ID: g.id, Lane: o.lane, Outcome: limiter.Settled, Used: limiter.Amounts{limiter.Requests: used}}
	if used <= 0 {
		s.Outcome, s.Used = limiter.Released, limiter.Amounts{}
	}
	return o.r.Settle(ctx, s)
}

func (o *ours) close() {}

// lanePlan is what a measurement needs of a limiter of ours.
type lanePlan struct {
	limits  limiter.Limits
	nodes   map[string]limiter.Limits
	classes []limiter.Class
	now     func() time.Time // nil: Redis's clock
}

// lane makes a limiter in a scope that nobody else has.
func (h *harness) lane(p lanePlan) (*limiter.Redis, limiter.Lane, error) {
	h.scopes++
	scope := limiter.Scope{Provider: "gemini", Project: fmt.Sprint("peers", h.scopes)}
	lane := limiter.Lane{Provider: scope.Provider, Project: scope.Project, Region: "global", Model: "flash"}
	r := limiter.NewRedis(h.rdb, scope, limiter.RedisOptions{Now: p.now})
	err := r.Configure(context.Background(), limiter.Config{
		Scope: scope, Classes: p.classes, Nodes: p.nodes,
		Lanes: []limiter.LaneConfig{{Lane: lane, Limits: p.limits, Lend: "now"}},
	})
	return r, lane, err
}

// harness is what the measurements share.
type harness struct {
	rdb    *redis.Client
	scopes int
}
