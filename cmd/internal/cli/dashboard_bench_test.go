package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gateway"
	"nightshift/limiter/gemini"
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
				now.keep(b.Context())
				ask(-1)
				b.ResetTimer()
				for n := range b.N {
					if anew {
						now.stale()
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

// BenchmarkTenantPages asks for the list of tenants and for one of them, in a fleet of ten
// and of a thousand, each with a record, a key, limits and calls of today. What the large
// one takes must stay within twice the small one's:
//
//	go test -run - -bench TenantPages ./cmd/internal/cli
func BenchmarkTenantPages(b *testing.B) {
	small := map[string]float64{}
	for _, tenants := range []int{10, 1000} {
		be := fleetOf(b, benchRedis(b), max(10, tenants/10), tenants)
		manyTenants(b, be, tenants)
		now := &dashboardNow{backend: be}
		now.keep(b.Context())
		d := be.testDashboard(b, now)
		for _, path := range []string{"/tenants", "/tenants/t003"} {
			b.Run(fmt.Sprintf("%d-tenants%s", tenants, path), func(b *testing.B) {
				for n := -3; n < b.N; n++ {
					if n == 0 {
						b.ResetTimer()
					}
					if w := visit(b, d, "a-token-that-looks", path+"?x="+strconv.Itoa(n), nil); w.Code != http.StatusOK {
						b.Fatal(pageWords(w))
					}
				}
				each := b.Elapsed().Seconds() / float64(b.N) * 1000
				if b.ReportMetric(each, "ms/page"); tenants == 10 {
					small[path] = each
				}
				b.ReportMetric(each/small[path], "×small")
			})
		}
	}
}

// manyTenants makes them as the API would.
func manyTenants(b *testing.B, be *backend, n int) {
	b.Helper()
	meter := gemini.NewMeter(be.rdb, be.conf.scope(), gemini.MeterOptions{Zone: be.conf.spendZone()})
	records, ch := map[string]any{}, limiter.Change{By: "ana"}
	for i := range n {
		name := fmt.Sprintf("t%03d", i)
		records["tenant/"+name] = fmt.Sprintf(`{"rev":1,"note":"number %d","by":"ana"}`, i)
		ch.Set = append(ch.Set, limiter.Override{Node: "tenant/" + name, Name: "rpd", Value: 10_000})
		_, id, err := be.book.Keys.Add(b.Context(), gateway.Identity{Name: name, Project: be.conf.Gemini.Project, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: name}})
		if err != nil {
			b.Fatal(err)
		}
		r := gemini.Record{Scope: be.conf.scope().String(), Lane: "gemini/default/global/model-000", Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: name, Key: id},
			Method: "generateContent", Sent: true, Status: http.StatusOK, Time: time.Now(), Held: time.Now()}
		r.Used[limiter.Requests] = 1
		meter.Put(r)
	}
	if err := errors.Join(meter.Close(), be.rdb.HSet(b.Context(), "nightshift:{limiter:"+be.conf.scope().String()+"}:tenants", records).Err(), be.lim.Override(b.Context(), ch)); err != nil {
		b.Fatal(err)
	}
}
