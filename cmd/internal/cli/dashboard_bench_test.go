package cli

import (
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// BenchmarkDashboardNow asks for the first page of a small fleet and of a large one:
// once anew after each look at the fleet, and once as somebody who looks within the
// same moment. What the large one takes must stay within twice the small one's:
//
//	go test -run - -bench DashboardNow ./cmd/internal/cli
func BenchmarkDashboardNow(b *testing.B) {
	small := map[bool]float64{}
	for _, size := range []struct{ lanes, tenants int }{{10, 10}, {100, 1000}} {
		be := fleetOf(b, benchRedis(b), size.lanes, size.tenants)
		for _, anew := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d-lanes-%d-tenants/anew-%t", size.lanes, size.tenants, anew), func(b *testing.B) {
				now := &dashboardNow{backend: be}
				d := be.testDashboard(b, now)
				ask := func(n int) {
					if w := visit(b, d, "a-token-that-looks", "/?x="+strconv.Itoa(n), nil); w.Code != http.StatusOK {
						b.Fatal(pageWords(w))
					}
				}
				ask(-1)
				for now.ranks.looking() { // at all tenants, which no page waits for
					time.Sleep(10 * time.Millisecond)
				}
				b.ResetTimer()
				for n := range b.N {
					if anew {
						now.forget()
					}
					ask(n)
				}
				each := b.Elapsed().Seconds() / float64(b.N) * 1000
				b.ReportMetric(each, "ms/page")
				if size.lanes == 10 {
					small[anew] = each
				}
				b.ReportMetric(each/small[anew], "×small")
			})
		}
	}
}

func (r *nodeRanks) looking() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full == nil
}

func benchRedis(tb testing.TB) *redis.Client {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	cmd := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir())
	if err := cmd.Start(); err != nil {
		tb.Skip("redis-server is not installed")
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: 25, MinRetryBackoff: 20 * time.Millisecond, MaxRetryBackoff: 200 * time.Millisecond})
	tb.Cleanup(func() {
		_ = rdb.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return rdb
}
