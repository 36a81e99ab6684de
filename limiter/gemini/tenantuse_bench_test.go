package gemini

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkTenantUseMemory prints what Redis holds for the use of 1,000 tenants that each
// have calls of three features to two models in every hour: one day is counted for real,
// and what is kept longer is that day times how often it is kept.
//
//	go test ./limiter/gemini -run '^$' -bench TenantUseMemory -benchtime 1x
func BenchmarkTenantUseMemory(b *testing.B) {
	const tenants = 1000
	ctx, rdb := context.Background(), benchRedis(b)
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		b.Fatal(err)
	}
	clock := &handClock{at: meterNoon}
	m := NewMeter(rdb, meterScope(), MeterOptions{Every: 1000 * time.Hour, Now: clock.now, redisNow: clock.now})
	defer m.Close()
	day := meterNoon.Format(time.DateOnly)
	for t := range tenants {
		m.mu.Lock()
		for i := range 24 * 6 {
			k := useKey{day: day, hour: fmt.Sprintf("%sT%02d", day, i/6), tenant: fmt.Sprintf("tenant-%04d", t), team: fmt.Sprintf("team-%d", t%3),
				key: fmt.Sprintf("k_%010d", t), feature: fmt.Sprintf("feature-%d", i%3), model: "global/gemini-2.5-flash" + []string{"", "-lite"}[i%2]}
			n := int64(20 + (t+i)%17)
			m.use[k] = &UseCounts{Calls: n, Requests: n, InputTokens: n * 2013, OutputTokens: n * 409, MicroUSD: n * 1007, Refused: n % 3, Provider429: n % 5 / 4}
		}
		m.mu.Unlock()
		for m.pending() > 0 {
			m.flush(false)
		}
	}
	var all int64
	for _, p := range []struct {
		what, kind string
		times      int64
	}{ // days and hours are kept after their last call, so one more of each
		{"hours of 8 days", ":use:h", 8 + 1},
		{"100 days", ":use:d", UseDaysKept + 1},
		{"100 days of all tenants together", ":use:2", UseDaysKept + 1},
		{"names, by month", ":use:n", 5},
	} {
		n := dropped(b, rdb, p.kind)
		all += n * p.times
		b.Logf("%-32s %6.1f MB", p.what, float64(n*p.times)/1e6)
	}
	for b.Loop() {
	}
	b.ReportMetric(float64(all)/1e6, "MB/1000-tenants")
	b.ReportMetric(float64(all)/tenants, "B/tenant")
}

// dropped is the memory that Redis has back once the keys with a word in them are gone.
func dropped(b *testing.B, rdb *redis.Client, word string) int64 {
	ctx := context.Background()
	keys, err := rdb.Keys(ctx, "*"+word+"*").Result()
	if err != nil {
		b.Fatal(err)
	}
	before := usedMemory(b, rdb)
	for _, k := range keys {
		if err := rdb.Del(ctx, k).Err(); err != nil {
			b.Fatal(err)
		}
	}
	return before - usedMemory(b, rdb)
}

func usedMemory(b *testing.B, rdb *redis.Client) int64 {
	info, err := rdb.Info(context.Background(), "memory").Result()
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.ParseInt(regexp.MustCompile(`used_memory:(\d+)`).FindStringSubmatch(info)[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
