package scheduler

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/limiter"
)

// trips counts how often Redis is waited for.
type trips struct{ n, commands atomic.Int64 }

func (*trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		c.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		c.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// looked is a reader of alerts over lanes, tenants with a cap, and runs; it has looked once.
func looked(tb testing.TB, rdb redis.UniversalClient, lanes, tenants int) (*AlertReader, *trips) {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	must(rdb.FlushAll(tb.Context()).Err())
	l := limiter.NewRedis(rdb, limiter.Scope{Provider: "gemini", Project: "p"}, limiter.RedisOptions{})
	conf := limiter.Config{Scope: limiter.Scope{Provider: "gemini", Project: "p"}, Classes: testClasses, Nodes: map[string]limiter.Limits{"tenant/*": {USDPerMonth: 1_000_000}}}
	for i := range lanes {
		lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: fmt.Sprintf("m%03d", i)}
		conf.Lanes = append(conf.Lanes, limiter.LaneConfig{Lane: lane, Limits: limiter.Limits{RPM: 1000}})
	}
	must(l.Configure(tb.Context(), conf))
	for i := range tenants {
		q := limiter.Request{ID: fmt.Sprint("c", i), Lane: conf.Lanes[i%lanes].Lane, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: fmt.Sprintf("t%04d", i)}}
		q.Amounts[limiter.Requests], q.Amounts[limiter.MicroUSD] = 1, 100
		_, err := l.Acquire(tb.Context(), q)
		must(err)
	}
	c := &Control{Redis: rdb, Limiter: l, Store: jobs.NewStore(rdb, jobs.StoreOptions{}), Scope: limiter.Scope{Provider: "gemini", Project: "p"}}
	r := &AlertReader{Control: c}
	_, err := r.Facts(tb.Context(), time.Now())
	must(err)
	n := &trips{}
	rdb.(*redis.Client).AddHook(n)
	return r, n
}

// TestAlertLookTrips: a large fleet is looked at in hardly more round trips than a small
// one, though each lane and each tenant's cap is asked for.
func TestAlertLookTrips(t *testing.T) {
	t.Parallel()
	took := map[int]int64{}
	for _, n := range []int{5, 50} {
		rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		r, c := looked(t, rdb, n, 2*n)
		f, err := r.Facts(t.Context(), time.Now())
		if err != nil || len(f.Lanes) != n || len(f.Caps) != 2*n {
			t.Fatalf("%d lanes, %d caps of %d tenants, %v", len(f.Lanes), len(f.Caps), 2*n, err)
		}
		took[n] = c.n.Load()
	}
	if took[50] > took[5]+10 {
		t.Errorf("%d round trips for 50 lanes and 100 tenants, %d for 5 and 10", took[50], took[5])
	}
}

// BenchmarkAlertLook is one look of the alerts' reader at ten lanes and tenants with
// caps, and at 100 and 1,000:
//
//	go test ./scheduler -run '^$' -bench AlertLook -benchtime 20x
func BenchmarkAlertLook(b *testing.B) {
	for _, size := range []struct{ lanes, tenants int }{{10, 10}, {100, 1000}} {
		b.Run(fmt.Sprintf("lanes=%d/tenants=%d", size.lanes, size.tenants), func(b *testing.B) {
			r, n := looked(b, realRedis(b), size.lanes, size.tenants)
			for b.Loop() {
				if _, err := r.Facts(context.Background(), time.Now()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n.n.Load())/float64(b.N), "round-trips/look")
			b.ReportMetric(float64(n.commands.Load())/float64(b.N), "commands/look")
		})
	}
}
