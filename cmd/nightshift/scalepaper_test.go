package main

import (
	"fmt"
	"strings"
	"testing"
)

const (
	// redisBusy is how much of its core Redis may be used, so that nobody waits for it.
	redisBusy = 0.6
	// tenantBytes is the most that a tenant with three limits takes after a day of full
	// load (the bar of `go run . -only memory` in limiter/peers), and useBytes what is
	// kept of its use for a hundred days (BenchmarkTenantUseMemory).
	tenantBytes, useBytes = 8 << 10, 65_000
	maxClients            = 10_000 // Redis's default
	readEvery             = 10     // seconds between the looks that each of many workers takes at the fleet
)

// onPaper computes what a fleet needs of one Redis, from a row's cost at the largest
// size that was measured and from what a worker costs that has nothing to do.
func onPaper(busy, idle scaled, workers, tenants int) []string {
	each := idle.connections / float64(idle.n)
	connections := each * float64(workers)
	waiting := (idle.redis + idle.reading/readEvery) * float64(workers) / 1e6
	rows := max(0, redisBusy-waiting) / (busy.redis / 1e6)
	remark := ""
	if connections > maxClients {
		remark = fmt.Sprintf("more than Redis's maxclients of %d: raise it", maxClients)
	}
	out := []string{
		fmt.Sprintf("| connections of %d workers | %.0f, %.0f MB of Redis | %s |", workers, connections, connections*idle.client/1e6, remark),
		fmt.Sprintf("| Redis while they have nothing to do | %.1f %% of a core | |", 100*waiting),
		fmt.Sprintf("| idle workers that leave Redis below %.0f %% of its core | %.0f | larger ones (worker.concurrency) cost Redis no more |", 100*redisBusy, redisBusy/waiting*float64(workers)),
	}
	if rows > 0 {
		out = append(out, fmt.Sprintf("| rows a second that leave Redis below %.0f %% of its core | %.0f, %.0f a minute | |", 100*redisBusy, rows, 60*rows))
	} else {
		out = append(out, fmt.Sprintf("| rows a second that leave Redis below %.0f %% of its core | 0 | more projects: each may have a Redis of its own, or a node of a Cluster |", 100*redisBusy))
	}
	return append(out, fmt.Sprintf("| memory of %d tenants: limits, at most; a hundred days of use | %.0f MB; %.0f MB | |", tenants, float64(tenants)*tenantBytes/1e6, float64(tenants)*useBytes/1e6))
}

func TestOnPaper(t *testing.T) {
	t.Parallel()
	busy := scaled{n: 8, perSecond: 500, redis: 1000}
	idle := scaled{n: 8, redis: 60, connections: 96, client: 2000, reading: 400}
	got := strings.Join(onPaper(busy, idle, 1000, 10_000), "\n")
	for _, want := range []string{
		"12000, 24 MB of Redis | more than Redis's maxclients", "| 10.0 % of a core |", "| 6000 | larger ones", "| 500, 30000 a minute |", "82 MB; 650 MB",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := strings.Join(onPaper(busy, scaled{n: 1, redis: 700}, 1000, 1), "\n"); !strings.Contains(got, "| 0 | more projects") {
		t.Errorf("a fleet that alone is too much for Redis:\n%s", got)
	}
}
