package limiter

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestManyTickets holds 50,000 of them on a real Redis: what one takes, what the
// sweep and a pull cost, and that all are gone afterwards.
func TestManyTickets(t *testing.T) {
	if testing.Short() || realRedis == "" {
		t.Skip("needs a redis-server and a few seconds")
	}
	const n = 50_000
	rdb := dialReal(t)
	r, lane := benchLane(t, rdb, Limits{RPM: 6000, InputTPM: 100_000_000})
	before := redisCPU(t, rdb)
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := w; i < n; i += 32 {
				_, _ = r.Acquire(t.Context(), Request{ID: "x", Lane: lane, Class: "bulk", Ticket: fmt.Sprintf("k3f9x2:%08d:0", i),
					Path: Path{Run: "k3f9x2", Priority: Normal}, Amounts: Amounts{1, 700, 300, 0, 0, 1200}, Full: true})
			}
		})
	}
	wg.Wait()
	t.Logf("sweep: %.1f µs of Redis a ticket", (redisCPU(t, rdb)-before)/n*1e6)
	bytes, err := rdb.MemoryUsage(t.Context(), r.lane(lane).keys[4], 0).Result()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes a ticket", bytes/n)
	if bytes/n > 150 {
		t.Errorf("%d bytes a ticket; want at most 150", bytes/n)
	}
	if _, err := r.Pull(t.Context(), lane, 0); err != nil { // the script is known now
		t.Fatal(err)
	}
	usec, _ := redisUsec(t, rdb, func() {
		ps, err := r.Pull(t.Context(), lane, 200)
		if err != nil || len(ps) == 0 {
			t.Fatalf("pulled %d, %v", len(ps), err)
		}
		t.Logf("pulled %d", len(ps))
	})
	t.Logf("a pull: %.0f µs of Redis", usec)
	began := time.Now()
	if err := r.DropLeaf(t.Context(), lane, Path{Run: "k3f9x2"}.Leaf()); err != nil {
		t.Fatal(err)
	}
	t.Logf("dropping the run: %s", time.Since(began).Round(time.Millisecond))
	if left, err := rdb.HLen(t.Context(), r.lane(lane).keys[4]).Result(); err != nil || left != 0 {
		t.Errorf("%d entries of tickets left, %v", left, err)
	}
}
