package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/worker"
)

var scaleFor = flag.Duration("scale-for", 10*time.Second, "Scale: how long each size is measured")

// BenchmarkScale has one Redis serve 1 to 8 worker processes and 1 to 4 gateways whose
// provider has no limits, and says what a call costs it at each size and where the
// throughput bends; then what workers cost that have nothing to do. From these costs it
// computes what 1,000 workers and 10,000 tenants need. On a machine of few processors the
// processes themselves are what bends first: read the cost of a call, not the rate.
//
//	go test ./cmd/nightshift -run '^$' -bench Scale -benchtime 1x -timeout 30m
func BenchmarkScale(b *testing.B) {
	for b.Loop() {
		workers, gateways := measureSizes(b, scaleWorkers, 1, 2, 4, 8), measureSizes(b, scaleGateways, 1, 2, 4)
		idle := idleWorkers(b, 8)
		var rows []string
		for _, c := range append(workers, gateways...) {
			rows = append(rows, c.row())
		}
		printTable(fmt.Sprintf("one Redis, a provider without limits, each size for %v", *scaleFor), append(rows, idle.row()))
		printTable("1,000 workers and 10,000 tenants on one Redis, computed from these costs", onPaper(workers[len(workers)-1], idle, 1000, 10_000))
		b.ReportMetric(workers[0].redis, "redis-µs/row")
		b.ReportMetric(workers[3].redis/workers[0].redis, "redis-8-workers÷1")
		b.ReportMetric(gateways[0].redis, "redis-µs/call")
		b.ReportMetric(gateways[2].redis/gateways[0].redis, "redis-4-gateways÷1")
		b.ReportMetric(workers[3].perSecond, "rows/s-of-8")
		b.ReportMetric(idle.redis, "redis-µs/s-idle-worker")
	}
	b.ReportMetric(0, "ns/op")
}

// scaled is what was measured of so many processes.
type scaled struct {
	what        string
	n           int
	perSecond   float64 // rows or calls; 0 of those that have nothing to do
	redis, own  float64 // µs of processor time: a row or a call, or a second of each that has nothing to do
	share       float64 // of a core, Redis's
	connections float64
	client      float64 // bytes that a connection takes in Redis
	most        string  // the commands that took most of Redis's time
	reading     float64 // µs of Redis's, the look at a fleet of a thousand
}

func (c scaled) row() string {
	if c.perSecond == 0 {
		return fmt.Sprintf("| %d %s | Redis %.0f µs in a second for each, the process itself %.0f µs; %.0f connections in all, of %.1f kB; most of it for %s | |",
			c.n, c.what, c.redis, c.own, c.connections, c.client/1000, c.most)
	}
	return fmt.Sprintf("| %d %s | %.0f a second; Redis %.0f µs each, %.1f %% of a core; processes %.0f µs each; %.0f connections | |",
		c.n, c.what, c.perSecond, c.redis, 100*c.share, c.own, c.connections)
}

func measureSizes(b *testing.B, one func(*testing.B, int) scaled, sizes ...int) (out []scaled) {
	for _, n := range sizes {
		out = append(out, one(b, n))
	}
	return out
}

// unlimitedFleet has a provider that answers after a tenth of a second.
func unlimitedFleet(b *testing.B) *night {
	q := unlimited(b, simulated{latency: 100 * time.Millisecond, tokens: 50})
	return nightOf(newFleet(b, q, defaultConf))
}

// measure counts for so long what is done, and what it takes of Redis and of processes.
func (n *night) measure(c *scaled, procs []*exec.Cmd, done func() int64) {
	cpu := func() (sum time.Duration) {
		for _, p := range procs {
			sum += cpuOf(p)
		}
		return sum
	}
	own, had, before := cpu(), done(), n.redisLoad()
	<-time.After(*scaleFor)
	after, has, mine := n.redisLoad(), done(), cpu()-own
	span := after.at.Sub(before.at).Seconds()
	per := float64(has - had)
	c.perSecond = per / span
	if per == 0 {
		per = span * float64(max(1, c.n))
	}
	c.redis, c.own, c.share = 1e6*(after.cpu-before.cpu)/per, float64(mine.Microseconds())/per, (after.cpu-before.cpu)/span
	info, err := n.rdb.Info(n.Context(), "clients", "memory").Result()
	n.must(err)
	c.connections = infoNumber(info, "connected_clients")
	c.client = infoNumber(info, "mem_clients_normal") / c.connections
}

func scaleWorkers(b *testing.B, n int) scaled {
	f := unlimitedFleet(b)
	run := f.enqueue("rows", int(800*(scaleFor.Seconds()+6)), jobs.Normal, func(int) string { return words(30) })
	f.startWorkers(n)
	f.await("rows end", time.Minute, func() bool { return f.counts(run)[jobs.Done] > 200 })
	c := scaled{what: "workers", n: n}
	f.measure(&c, f.workers, func() int64 { return f.counts(run)[jobs.Done] })
	if f.counts(run).Open() == 0 {
		b.Fatalf("%d workers: the rows were all done before the time was over", n)
	}
	f.stopAll()
	return c
}

func scaleGateways(b *testing.B, n int) scaled {
	f := unlimitedFleet(b)
	var procs []*exec.Cmd
	var ways []*way
	for i := range n {
		addr := freeAddr(f)
		cmd := f.command("gateway", "--listen", addr)
		f.start(cmd, fmt.Sprintf("gateway%d.log", i))
		f.await("the gateway is up", 30*time.Second, func() bool { return dials(addr) })
		procs = append(procs, cmd)
		ways = append(ways, &way{name: "gateway", url: "http://" + addr, header: http.Header{"X-Goog-Api-Key": {f.gatewayKey()}}})
	}
	answered, stop := f.callAll(ways, 64)
	f.await("people are answered", time.Minute, func() bool { return answered.Load() > 200 })
	c := scaled{what: "gateways", n: n}
	f.measure(&c, procs, answered.Load)
	stop()
	f.stopAll()
	return c
}

// callAll has so many callers, who take the ways by turns and ask again at once.
func (n *night) callAll(ways []*way, callers int) (answered *atomic.Int64, stop func()) {
	answered = &atomic.Int64{}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	client := caller()
	for i := range callers {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := ways[i%len(ways)].call(client, false); err != nil {
					n.Error(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	return answered, func() { cancel(); all.Wait(); client.CloseIdleConnections() }
}

// idleWorkers are those that have done what there was to do.
func idleWorkers(b *testing.B, n int) scaled {
	f := unlimitedFleet(b)
	bare := scaled{n: 1}
	f.measure(&bare, nil, func() int64 { return 0 })
	run := f.enqueue("rows", 100*n, jobs.Normal, func(int) string { return "one lamp" })
	f.startWorkers(n)
	f.await("all rows have ended", time.Minute, func() bool { return f.counts(run).Open() == 0 })
	c := scaled{what: "workers that have nothing to do", n: n}
	before := f.commands()
	f.measure(&c, f.workers, func() int64 { return 0 })
	c.most = dearest(before, f.commands(), 4)
	c.redis -= bare.redis / float64(n) // what Redis takes by itself
	c.reading = f.readingFleet(1000)
	f.stopAll()
	return c
}

// readingFleet is what Redis does, in µs, to tell one worker of n.
func (n *night) readingFleet(workers int) float64 {
	entry := fmt.Sprintf(`%d|{"id":"a-host:12345:0011aabb","host":"a-host","lanes":[{"lane":%q,"slots":32,"busy":0}],"done":100000}`, time.Now().UnixMilli(), n.lane())
	for i := range workers {
		n.must(n.rdb.HSet(n.Context(), "nightshift:fleet", fmt.Sprintf("host:%05d", i), entry).Err())
	}
	const times = 50
	before := n.redisLoad()
	for range times {
		living, err := worker.Fleet(n.Context(), n.rdb)
		n.must(err)
		if len(living) < workers {
			n.Fatalf("%d of %d workers are read", len(living), workers)
		}
	}
	return 1e6 * (n.redisLoad().cpu - before.cpu) / times
}
