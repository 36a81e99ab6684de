package worker

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// breaking is a road whose connections end before an answer, as long as it says
// so of the call.
type breaking struct {
	to     http.RoundTripper
	err    error
	breaks func(prompt string) bool

	mu     sync.Mutex
	broken int
}

func (b *breaking) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	prompt, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	breaks := b.breaks(string(prompt))
	if breaks {
		b.broken++
	}
	b.mu.Unlock()
	if breaks {
		return nil, b.err
	}
	return b.to.RoundTrip(req)
}

func (b *breaking) set(breaks func(string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.breaks = breaks
}

func (b *breaking) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

func always(string) bool { return true }
func never(string) bool  { return false }

// TestConnectionsThatBreak: when every call's connection ends before an answer,
// rows wait as without a way; none runs out of attempts, and work goes on soon
// after.
func TestConnectionsThatBreak(t *testing.T) {
	for name, err := range map[string]error{
		"reset": &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
		"eof":   io.EOF,
		"tls":   errors.New("remote error: tls: handshake failure"),
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				r := newRig(t)
				road := &breaking{to: r.sim, err: err, breaks: always}
				cfg := r.config()
				cfg.Client = r.clientVia(road, r.gate)
				run := r.enqueue(12, spec())
				r.start(cfg)
				pass(time.Minute)
				if c, _ := r.store.Counts(t.Context(), run.ID); c.Open() != 12 {
					t.Errorf("after a minute of broken connections rows are %s", tally(c))
				}
				fleet, err := Fleet(t.Context(), r.rdb)
				if err != nil {
					t.Fatal(err)
				}
				if trouble := NoWay(fleet, testLane); trouble == nil || !strings.Contains(trouble.Why, "connection: ") {
					t.Errorf("the fleet says %+v", trouble)
				}
				before := road.count()
				pass(30 * time.Second)
				if n := road.count() - before; n > 3 {
					t.Errorf("%d calls tried the way in half a minute, want one or two", n)
				}
				road.set(never)
				if c := r.await(run, 2*time.Minute); c[jobs.Done] != 12 {
					t.Errorf("rows are %s", tally(c))
				}
			})
		})
	}
}

// TestOneBrokenConnection: among good calls it is the row's own failure: it is
// tried again, and a row whose every connection breaks ends.
func TestOneBrokenConnection(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		once := true
		road := &breaking{to: r.sim, err: io.EOF, breaks: func(prompt string) bool {
			first := once && strings.Contains(prompt, "id: r3 ")
			once = once && !first
			return first || strings.Contains(prompt, "id: r0 ")
		}}
		cfg := r.config()
		cfg.Concurrency, cfg.Client = 1, r.clientVia(road, r.gate)
		run := r.enqueue(70, spec())
		r.start(cfg)
		if c := r.await(run, 5*time.Minute); c[jobs.Done] != 69 || c[jobs.Failed] != 1 {
			t.Errorf("rows are %s", tally(c))
		}
		all := r.results(run)
		if res := all["r3"]; res.Status != "done" || res.Attempts != 2 {
			t.Errorf("r3 is %s after %d attempts", res.Status, res.Attempts)
		}
		if res := all["r0"]; res.Error == nil || res.Error.Cause != "connection" || res.Attempts != 5 {
			t.Errorf("r0: %+v", res)
		}
	})
}

// TestLosing: three connections in a row over ten seconds are no way; of one or
// two rows they are believed for ten minutes, since it may be these rows; an
// answer makes all good.
func TestLosing(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	type loss struct {
		row string
		at  time.Duration
		ok  bool // an answer came before it
	}
	for name, tc := range map[string]struct {
		losses []loss
		want   bool // of the last
	}{
		"two":              {[]loss{{"a", 0, false}, {"b", time.Minute, false}}, false},
		"at once":          {[]loss{{"a", 0, false}, {"b", 0, false}, {"c", 9 * time.Second, false}}, false},
		"over ten seconds": {[]loss{{"a", 0, false}, {"b", 0, false}, {"c", 10 * time.Second, false}}, true},
		"an answer":        {[]loss{{"a", 0, false}, {"b", 0, false}, {"c", 20 * time.Second, true}}, false},
		"one row":          {[]loss{{"a", 0, false}, {"a", 8 * time.Second, false}, {"a", 9 * time.Minute, false}}, true},
		"one row for long": {[]loss{{"a", 0, false}, {"b", 8 * time.Second, false}, {"a", 11 * time.Minute, false}}, false},
		"many for long":    {[]loss{{"a", 0, false}, {"b", 0, false}, {"c", 8 * time.Second, false}, {"a", 31 * time.Minute, false}}, true},
	} {
		var w way
		got := false
		for _, l := range tc.losses {
			if l.ok {
				w.open()
			}
			got = w.lose(l.row, start.Add(l.at))
		}
		if got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
