package limiter

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// bucketLua is the least that a shared limiter can do: one dimension, a token
// bucket on Redis's clock. It is the bound that ours is measured against.
var bucketLua = redis.NewScript(`
local x = redis.call('TIME')
local now = x[1] * 1000 + math.floor(x[2] / 1000)
local v = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local rate, size, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens, at = tonumber(v[1]) or size, tonumber(v[2]) or now
tokens = math.min(size, tokens + (now - at) * rate / 1000)
local ok = 0
if tokens >= cost then
  tokens = tokens - cost
  ok = 1
end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', now)
redis.call('EXPIRE', KEYS[1], 120)
return {ok, tostring(tokens)}`)

var usecPerCall = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// redisUsec is Redis's own time per script call while f ran.
func redisUsec(b testing.TB, rdb *redis.Client, f func()) (usec float64, calls int64) {
	b.Helper()
	ctx := context.Background()
	if err := rdb.ConfigResetStat(ctx).Err(); err != nil {
		b.Fatal(err)
	}
	f()
	info, err := rdb.Info(ctx, "commandstats").Result()
	m := usecPerCall.FindStringSubmatch(info)
	if err != nil || m == nil {
		b.Fatalf("no statistics: %v", err)
	}
	calls, _ = strconv.ParseInt(m[1], 10, 64)
	total, _ := strconv.ParseFloat(m[2], 64)
	return total / float64(calls), calls
}

func benchLane(b testing.TB, rdb *redis.Client, l Limits) (*Redis, Lane) {
	scope := testScope()
	lane := Lane{Provider: scope.Provider, Project: scope.Project, Region: "global", Model: "flash"}
	r := NewRedis(rdb, scope, RedisOptions{})
	err := r.Configure(context.Background(), Config{Scope: scope, Lanes: []LaneConfig{{Lane: lane, Limits: l}}, Classes: []Class{
		{Name: "interactive", GuaranteePPM: 300_000}, {Name: "agent"}, {Name: "bulk", Smooth: true, Tickets: true},
		{Name: "evaluation", Smooth: true, Tickets: true}, {Name: "background", Smooth: true, Tickets: true},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return r, lane
}

var wide = Limits{RPM: 600_000_000, InputTPM: 60_000_000_000, Concurrency: 1_000_000}

// BenchmarkDecision prints Redis's time per decision of three limits, beside
// that of the plain bucket, and how it changes with what waits.
func BenchmarkDecision(b *testing.B) {
	rdb := dialReal(b)
	ctx := context.Background()
	b.Run("bucket", func(b *testing.B) {
		for b.Loop() {
			usec, _ := redisUsec(b, rdb, func() {
				for range 2000 {
					if err := bucketLua.Run(ctx, rdb, []string{"bucket"}, 1000000, 1000000, 1).Err(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.ReportMetric(usec, "redis-µs/call")
		}
	})
	for _, waiting := range []int{0, 1000, 50_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) { benchDecision(b, rdb, waiting) })
	}
}

// BenchmarkHeld is BenchmarkDecision while a run is paused and the class throttled.
func BenchmarkHeld(b *testing.B) {
	rdb := dialReal(b)
	r, lane := benchLane(b, rdb, wide)
	ctx := context.Background()
	if err := r.Pause(ctx, Pause{Run: "k3f9x2", Reason: "operator"}); err != nil {
		b.Fatal(err)
	}
	if err := r.Throttle(ctx, Throttle{Class: "interactive", Reason: "window", ToPPM: 900_000}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		benchRound(b, rdb, r, lane)
	}
}

func benchDecision(b *testing.B, rdb *redis.Client, waiting int) {
	ctx := context.Background()
	r, lane := benchLane(b, rdb, wide)
	for i := range waiting {
		q := Request{ID: "x", Lane: lane, Class: "bulk", Ticket: fmt.Sprintf("k3f9x2:%08d:0", i), Path: Path{Run: "k3f9x2", Priority: Normal}, Amounts: Amounts{1, 500}, Full: true}
		if _, err := r.Acquire(ctx, q); err == nil {
			b.Fatal("granted")
		}
	}
	for b.Loop() {
		benchRound(b, rdb, r, lane)
	}
}

// benchRound measures 2,000 decisions and their settlements.
func benchRound(b *testing.B, rdb *redis.Client, r *Redis, lane Lane) {
	ctx := context.Background()
	const calls = 2000
	acquire, _ := redisUsec(b, rdb, func() {
		for i := range calls {
			q := Request{ID: "p" + strconv.Itoa(i), Lane: lane, Class: "interactive", Amounts: Amounts{1, 500}}
			if _, err := r.Acquire(ctx, q); err != nil {
				b.Fatal(err)
			}
		}
	})
	settle, _ := redisUsec(b, rdb, func() {
		for i := range calls {
			s := Settlement{ID: "p" + strconv.Itoa(i), Lane: lane, Outcome: Settled, Used: Amounts{1, 400}}
			if err := r.Settle(ctx, s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(acquire, "redis-µs/acquire")
	b.ReportMetric(settle, "redis-µs/settle")
}
