package limiter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"
)

// BenchmarkInPlace prints Redis's time per ask of callers who wait in place, of eight
// tenants with four keys each, and per decision about bulk meanwhile, beside a decision
// while nobody waits. The last column is the part of a Redis that all of them take who
// ask as often as they should (Denied.AskAgain).
//
//	go test ./limiter -run '^$' -bench InPlace -benchtime 1x
func BenchmarkInPlace(b *testing.B) {
	rdb := dialReal(b)
	for _, waiting := range []int{0, 1, 16, 64, mostInLine} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			r, lane := benchLane(b, rdb, Limits{RPM: 600_000_000, InputTPM: 60_000_000_000, Concurrency: 1})
			hold := Request{ID: "held", Lane: lane, Class: "interactive", Amounts: Amounts{1, 500}}
			if _, err := r.Acquire(context.Background(), hold); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				benchCallers(b, waiting, func(f func()) float64 { usec, _ := redisUsec(b, rdb, f); return usec }, r, lane)
			}
		})
	}
}

func benchCallers(b *testing.B, waiting int, usec func(func()) float64, r *Redis, lane Lane) {
	ask := func(q Request) int64 {
		_, err := r.Acquire(context.Background(), q)
		var d *Denied
		if !errors.As(err, &d) {
			b.Fatal("granted, or failed: ", err)
		}
		return d.Position
	}
	caller := func(i int) Request {
		return Request{ID: "c" + strconv.Itoa(i), Lane: lane, Class: "interactive", Amounts: Amounts{1, 500}, Wait: time.Minute,
			Path: Path{Tenant: "t" + strconv.Itoa(i%8), Key: "k" + strconv.Itoa(i%32)}}
	}
	everySecond := 0.0 // asks, of all who wait
	for i := range waiting {
		everySecond += 1 / (&Denied{Position: ask(caller(i)), RetryAfterMS: 1000}).AskAgain().Seconds()
	}
	bulk := usec(func() {
		for i := range 300 {
			ask(Request{ID: "b" + strconv.Itoa(i), Lane: lane, Class: "bulk", Amounts: Amounts{1, 500}})
		}
	})
	b.ReportMetric(bulk, "redis-µs/bulk")
	if waiting == 0 {
		return
	}
	each := usec(func() {
		for i := range 300 {
			ask(caller(i % waiting))
		}
	})
	b.ReportMetric(each, "redis-µs/ask")
	b.ReportMetric(each*everySecond/1e4, "redis-%")
}
