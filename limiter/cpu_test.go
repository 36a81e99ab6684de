package limiter

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

var cpuSeconds = regexp.MustCompile(`used_cpu_(?:user|sys)_main_thread:([\d.]+)`)

// redisCPU is the processor time that the server has used, in seconds.
func redisCPU(b testing.TB, rdb *redis.Client) (sum float64) {
	info, err := rdb.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, m := range cpuSeconds.FindAllStringSubmatch(info, -1) {
		s, _ := strconv.ParseFloat(m[1], 64)
		sum += s
	}
	return sum
}

// BenchmarkCallers shows what a decision and its settlement cost on both sides
// when many callers share calls.
func BenchmarkCallers(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			rdb := dialReal(b)
			r, lane := benchLane(b, rdb, wide)
			b.ReportAllocs()
			before := redisCPU(b, rdb)
			b.ResetTimer()
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					for i := c; i < b.N; i += callers {
						q := Request{ID: fmt.Sprint("p", i), Lane: lane, Class: "bulk", Ticket: fmt.Sprint("t", i), Path: Path{Run: "r"}, Amounts: Amounts{1, 500}}
						if _, err := r.Acquire(context.Background(), q); err != nil {
							b.Error(err)
							return
						}
						s := Settlement{ID: q.ID, Lane: lane, Outcome: Settled, Used: Amounts{1, 400}}
						if err := r.Settle(context.Background(), s); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric((redisCPU(b, rdb)-before)/float64(b.N)*1e6, "redis-µs/job")
		})
	}
}
