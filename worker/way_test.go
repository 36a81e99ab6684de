package worker

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// road leads to the simulated Gemini, or nowhere.
type road struct {
	to http.RoundTripper

	mu     sync.Mutex
	closed bool
	tries  int // while it was closed
}

func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.open() {
		return r.to.RoundTrip(req)
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func (r *road) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.tries++
	}
	return !r.closed
}

func (r *road) set(closed bool) { r.mu.Lock(); r.closed = closed; r.mu.Unlock() }

func (r *road) count() int { r.mu.Lock(); defer r.mu.Unlock(); return r.tries }

// TestNoWayToTheProvider: while the API cannot be reached one row tries for all,
// no row fails or loses an attempt, the fleet's list and the log say why, and
// work goes on soon after the way is open again.
func TestNoWayToTheProvider(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		way := &road{to: r.sim, closed: true}
		cfg, gate := r.config(), &noting{testGate: r.gate}
		cfg.Gate, cfg.Client = gate, r.clientVia(way, r.gate)
		run := r.enqueue(12, spec())
		r.start(cfg)
		pass(8 * time.Minute)
		// 4 at once, then 5, 10, 20, 40 and 60 s apart, to the second that asynq keeps.
		if n := way.count(); n < 8 || n > 24 {
			t.Errorf("%d calls tried the way in 8 min, want a dozen or so", n)
		}
		if n := strings.Count(r.log.text(), "the provider cannot be reached"); n < 4 || n > 9 {
			t.Errorf("%d lines say so in 8 min, want about one a minute", n)
		}
		fleet, err := Fleet(t.Context(), r.rdb)
		if err != nil {
			t.Fatal(err)
		}
		trouble := NoWay(fleet, testLane)
		if trouble == nil || !strings.Contains(trouble.Why, "connection refused") || time.Since(trouble.Since) < 7*time.Minute {
			t.Fatalf("the fleet says %+v", trouble)
		}
		way.set(false)
		if c := r.await(run, 3*time.Minute); c[jobs.Done] != 12 {
			t.Errorf("rows are %s", tally(c))
		}
		for row, res := range r.results(run) {
			if res.Attempts != 1 {
				t.Errorf("%s took %d attempts", row, res.Attempts)
			}
		}
		pass(2 * time.Second)
		if fleet, _ = Fleet(t.Context(), r.rdb); NoWay(fleet, testLane) != nil {
			t.Errorf("the fleet still says %+v", NoWay(fleet, testLane))
		}
		pass(10 * time.Second)
		if got := gate.texts(); len(got) != 2 || !strings.Contains(got[0], testModel+": the provider cannot be reached (network: ") || !strings.Contains(got[1], "calls failed for 8m") {
			t.Errorf("events: %q", got)
		}
	})
}

// TestWay: the pauses grow, calls that failed together count once, and one at a
// time tries.
func TestWay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	var w way
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
		want *= time.Second
		probe, wait, _ := w.enter(now)
		if wait != 0 || probe != (want > wayFirst) {
			t.Fatalf("before %v: probe %v, wait %v", want, probe, wait)
		}
		if _, wait, _ := w.enter(now); probe && wait == 0 {
			t.Error("two probes at once")
		}
		if got := w.shut("network", now, wayMost); got != want {
			t.Errorf("waits %v, want %v", got, want)
		}
		if got := w.shut("network", now.Add(time.Second), wayMost); got != want-time.Second {
			t.Errorf("a second one waits %v, want %v", got, want-time.Second)
		}
		w.leave(probe)
		now = now.Add(want)
	}
	if w.open(); w.trouble() != nil {
		t.Error("trouble after an answer")
	}
}
