package gemini

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// fleetHour counts an hour of a fleet as its users would have it: 30 calls a second in
// the mean (2.6 million a day: a million rows of a night, and people and agents), more
// to some lanes, tenants and features than to others (Zipf, s = 1.1); a tenant has two
// lanes and one class, a lane three features; the historian works on.
func fleetHour(b *testing.B, rdb *redis.Client, lanes, tenants int) *historyRig {
	r := &historyRig{rdb: rdb, scope: meterScope(), clock: &handClock{at: meterNoon}}
	r.meter = NewMeter(rdb, r.scope, MeterOptions{Every: 1000 * time.Hour, Now: r.clock.now, redisNow: r.clock.now})
	b.Cleanup(func() { _ = r.meter.Close() })
	r.made = NewHistorian(rdb, r.scope, HistorianOptions{redisNow: r.clock.now})
	r.read = NewHistory(rdb, r.scope)
	r.read.redisNow = r.clock.now
	rng := rand.New(rand.NewPCG(1, 2))
	who := rand.NewZipf(rng, 1.1, 8, uint64(tenants-1))
	classes := []string{"interactive", "bulk", "agent"}
	for step := range 720 {
		for range 150 {
			t := int(who.Uint64())
			c := goodCall(r.scope, classes[t%3], fmt.Sprintf("feature-%d", (t*7+step*0+rng.IntN(2))%(3*lanes)%60))
			c.Lane = fmt.Sprintf("%s/global/gemini-%d", r.scope, (t*13+rng.IntN(2)*29)%lanes)
			c.Path.Tenant = fmt.Sprintf("tenant-%04d", t)
			c.Used = limiter.Amounts{limiter.Requests: 1, limiter.InputTokens: rng.Int64N(4000), limiter.OutputTokens: rng.Int64N(800), limiter.MicroUSD: rng.Int64N(2000)}
			c.Used[limiter.TotalTokens] = c.Used[limiter.InputTokens] + c.Used[limiter.OutputTokens]
			c.Estimate, c.TookMS, c.Finish = c.Used, 200+rng.Int64N(3000), "STOP"
			c.Estimate[limiter.InputTokens] += c.Used[limiter.InputTokens] * rng.Int64N(20) / 100
			c.Estimate[limiter.OutputTokens] += c.Used[limiter.OutputTokens] * rng.Int64N(80) / 100
			c.Usage = &Usage{Prompt: c.Used[limiter.InputTokens], Candidates: c.Used[limiter.OutputTokens]}
			r.meter.Put(c)
			if c.Class == "bulk" { // a row's: it ends with its call, and has waited for three things
				lane, _ := limiter.ParseLane(c.Lane)
				r.meter.PutRows(RowWaits{Lane: lane, Class: c.Class, Feature: c.Feature, Rows: 1,
					WaitedMS: map[string]int64{"queue": rng.Int64N(9e5), "window": rng.Int64N(3e7), []string{"quota", "turn", "paused", "slots"}[rng.IntN(4)]: rng.Int64N(9e6)}})
			}
		}
		for r.meter.flush(false); r.meter.pending() > 0; r.meter.flush(false) {
		}
		if r.clock.turn(5 * time.Second); step%2 == 1 {
			begin := time.Now()
			if err := r.made.Step(context.Background()); err != nil {
				b.Fatal(err)
			}
			r.took += time.Since(begin) / 360
		}
	}
	return r
}

// memoryOf adds up what Redis says that keys take, by kind.
func memoryOf(b *testing.B, rdb *redis.Client, scope limiter.Scope) map[string]int64 {
	sums := map[string]int64{}
	root := newMeterKeys(scope).root
	keys, err := rdb.Keys(context.Background(), root+"*").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range keys {
		n, err := rdb.MemoryUsage(context.Background(), k, 0).Result()
		if err != nil {
			b.Fatal(err)
		}
		parts := strings.Split(strings.TrimPrefix(k, root), ":")
		kind := "other"
		switch {
		case len(parts) > 4 && parts[1] == "history":
			kind = "packed " + parts[2]
			switch v := historyView(parts[4]); {
			case parts[2] == tierMinute.name && v == viewUsers:
				kind += " users"
			case tierFine.keeps(v) == fineDetail:
				kind += " detail"
			}
		case len(parts) > 3 && parts[1] == "t":
			kind = "raw tenants"
		case len(parts) > 1 && parts[1] == "money":
			kind = "money"
		case len(parts) > 2:
			kind = "raw " + parts[1]
		}
		sums[kind] += n
	}
	return sums
}

// BenchmarkHistoryMemory prints what Redis holds for seven days of 100 lanes and 1,000
// tenants: an hour is counted for real, and what is kept longer is that hour times how
// often it is kept. The bar is 200 MB.
func BenchmarkHistoryMemory(b *testing.B) {
	rdb := benchRedis(b)
	r := fleetHour(b, rdb, 100, 1000)
	hot := memoryOf(b, rdb, r.scope)
	r.clock.turn(9 * time.Hour)
	for range 40 { // catches up with empty hours before the first
		if err := r.made.Step(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	cold := memoryOf(b, rdb, r.scope)
	mb := func(n float64) float64 { return n / 1e6 }
	parts := []struct {
		what  string
		bytes float64
	}{
		{"48 h in steps of 10 s", float64(hot["packed 10s"]) * (tierFine.kept + tierFine.block).Hours()},
		{"6 h of them in detail", float64(hot["packed 10s detail"]) * (fineDetail + tierFine.block).Hours()},
		{"7 d in steps of 5 min", float64(cold["packed 5m"]+cold["packed 5m detail"]) * (tierCoarse.kept + tierCoarse.block).Hours()},
		{"50 h of minutes, packed", float64(cold["packed 1m detail"]) * tierMinute.kept.Hours()},
		{"26 h of minutes by user", float64(cold["packed 1m users"]) * (usersKept + tierMinute.block).Hours()},
		{"minutes, not packed", float64(hot["raw 60000"]) * (tierMinute.block + tierMinute.settles).Hours()},
		{"hours, not packed", float64(hot["raw 3600000"]) * (tierHour.block + tierHour.settles).Hours()},
		{"7 d of hours, packed", float64(cold["packed 1h detail"]) * 7 * 24},
		{"a quarter of an hour of 5 s", float64(hot["raw 5000"]) / 4},
		{"a quarter of an hour by tenant", float64(hot["raw tenants"]) / 4},
		{"7 days of money", float64(hot["money"]) * 7},
	}
	var all float64
	for _, p := range parts {
		all += p.bytes
		b.Logf("%-32s %6.1f MB", p.what, mb(p.bytes))
	}
	b.Logf("%-32s %6.1f MB (bar 200)", "all", mb(all))
	for b.Loop() {
	}
	b.ReportMetric(mb(all), "MB/7d")
	b.ReportMetric(float64(r.took.Milliseconds()), "ms/step-of-10-s")
}

// BenchmarkHistoryPage prints what a page costs with 100 lanes and 1,000 tenants, and
// with ten of each: an hour in steps of ten seconds, in all four ways of telling apart.
// The bar is twice.
func BenchmarkHistoryPage(b *testing.B) {
	rdb := benchRedis(b)
	took := map[int]time.Duration{}
	for _, n := range []int{10, 100} {
		r := fleetHour(b, rdb, n, n*map[int]int{10: 1, 100: 10}[n])
		b.Run(fmt.Sprintf("lanes=%d", n), func(b *testing.B) {
			for b.Loop() {
				for _, by := range GroupsBy() {
					if _, err := r.read.Read(context.Background(), HistoryQuery{From: meterNoon, To: r.clock.now(), By: by, Levels: true}); err != nil {
						b.Fatal(err)
					}
				}
			}
			took[n] = b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(took[n])/float64(took[10]), "×small")
		})
	}
	b.Logf("four charts of an hour: %s with 10 lanes and 10 tenants, %s with 100 and 1,000: %.2f x", took[10], took[100], float64(took[100])/float64(took[10]))
}

func benchRedis(b *testing.B) *redis.Client {
	server.Do(startServer)
	if server.err != nil {
		b.Skip(server.err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: server.socket})
	b.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
