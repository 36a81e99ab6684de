package worker

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"

	"github.com/redis/go-redis/v9"
)

// newFleetRig is a rig on real Redis and HTTP, with the real limiter.
func newFleetRig(t testing.TB, limits limiter.Limits, sim geminitest.Config) (r *rig, redisURL, geminiURL string) {
	t.Helper()
	redisURL = realRedis(t)
	rdb := client(t, redisURL)
	r = &rig{TB: t, rdb: rdb, store: jobs.NewStore(rdb, jobs.StoreOptions{}), log: &logLines{}, sim: geminitest.MustNew(sim)}
	configure(t, limiter.NewRedis(rdb, testScope, limiter.RedisOptions{}), limits)
	web := httptest.NewServer(r.sim)
	t.Cleanup(web.Close)
	return r, redisURL, web.URL
}

// configure gives the test's lane limits, all of them for bulk.
func configure(t testing.TB, gate *limiter.Redis, limits limiter.Limits) {
	t.Helper()
	lane, err := limiter.ParseLane(testLane)
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Configure(t.Context(), limiter.Config{Scope: testScope, Lanes: []limiter.LaneConfig{{Lane: lane, Limits: limits, Lend: "now"}},
		Classes: []limiter.Class{{Name: "bulk", Pausable: true, Smooth: true, Tickets: true}}}); err != nil {
		t.Fatal(err)
	}
}

// TestKilledFleet: three workers die one after another in the middle of their
// calls; a fourth finds everything they left. No row is lost, none has two
// results, and only the calls in flight were made again.
func TestKilledFleet(t *testing.T) {
	const rows, calls = 300, 8
	r, redisURL, geminiURL := newFleetRig(t, limiter.Limits{RPM: 1_000_000}, geminitest.Config{Latency: geminitest.Latency{Base: 50 * time.Millisecond, Sigma: 0.5}})
	run := r.enqueue(rows, spec())
	fleet := []interface{ Kill() error }{process(t, redisURL, geminiURL, calls), process(t, redisURL, geminiURL, calls), process(t, redisURL, geminiURL, calls)}
	for i, w := range fleet {
		r.until(run, 30*time.Second, "the next to die has worked", func(c jobs.Counts) bool { return c[jobs.Done] >= int64(60*(i+1)) })
		if err := w.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, 5*time.Second, "calls in flight have ended", func() bool { return !running(r.sim) })
	before := len(r.sim.Calls())
	lost := expireLeases(t, r.rdb, jobs.Queue(jobs.Normal, testLane))
	if lost == 0 || lost > 3*(calls+sweepSlots) {
		t.Fatalf("%d tasks were with the dead, want 1 to %d", lost, 3*(calls+sweepSlots))
	}
	process(t, redisURL, geminiURL, calls)
	c := r.await(run, 30*time.Second)
	if c[jobs.Done] != rows {
		t.Errorf("rows are %s", tally(c))
	}
	all := r.results(run)
	if len(all) != rows {
		t.Errorf("%d results", len(all))
	}
	for row, res := range all {
		if !strings.Contains(string(res.Fields), `"`+strings.Replace(row, "r", "word", 1)+`"`) {
			t.Errorf("row %s has the fields %s", row, res.Fields)
		}
	}
	if n := len(r.sim.Calls()); n > rows+3*calls {
		t.Errorf("%d calls (%d before the fourth worker) for %d rows, want at most those in flight at the deaths more", n, before, rows)
	}
}

func running(s *geminitest.Server) bool {
	for _, c := range s.Calls() {
		if c.Running {
			return true
		}
	}
	return false
}

// expireLeases lets the time pass for which asynq trusts a silent worker, and
// gives the number of tasks that the silent ones hold.
func expireLeases(t *testing.T, rdb redis.UniversalClient, queue string) int {
	t.Helper()
	ids := rdb.ZRange(t.Context(), asynqKey(queue, "lease"), 0, -1).Val()
	for _, id := range ids {
		rdb.ZAdd(t.Context(), asynqKey(queue, "lease"), redis.Z{Member: id, Score: 1})
	}
	return len(ids)
}

// TestFleetSharesALimit: several workers together stay within the rate in any
// minute and use it: rows wait in the limiter's line and are pulled.
func TestFleetSharesALimit(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
		configure(t, gate, limiter.Limits{RPM: 120})
		run := r.enqueue(300, spec())
		for range 2 {
			cfg := r.config()
			cfg.Gate, cfg.Client = gate, r.clientOver(gate)
			r.start(cfg)
		}
		began := time.Now()
		if c := r.await(run, 5*time.Minute); c[jobs.Done] != 300 {
			t.Fatalf("rows are %s", tally(c))
		}
		took := time.Since(began)
		most := r.sim.MaxInWindow(testModel, geminitest.Requests, time.Minute)
		t.Logf("300 rows at 120 a minute took %v, most calls in a minute %d", took, most)
		if most > 120 {
			t.Errorf("%d calls in one minute, the limit is 120", most)
		}
		if took > 3*time.Minute {
			t.Errorf("took %v, want the limit used: about 2.5 min", took)
		}
		if q := r.queue(jobs.Normal); q.Archived != 0 || q.Failed != 0 {
			t.Errorf("asynqmon shows %d archived and %d failed: waiting is no failure", q.Archived, q.Failed)
		}
	})
}
