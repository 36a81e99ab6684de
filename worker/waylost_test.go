package worker

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
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
// tried again, and a row whose every connection breaks ends, also when it is the
// last that is left.
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
		run := r.enqueue(12, spec())
		r.start(cfg)
		if c := r.await(run, 10*time.Minute); c[jobs.Done] != 11 || c[jobs.Failed] != 1 {
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

// TestLosing: three connections in a row over ten seconds are no way; of few rows
// they are believed for five minutes, since it may be these rows; an answer makes
// all good.
func TestLosing(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		rows   int             // whose connections were lost at the start
		later  []time.Duration // when that of the first was lost again
		answer bool            // one came before the last
		want   bool            // of the last
	}{
		"two":              {rows: 1, later: []time.Duration{time.Minute}},
		"at once":          {rows: 2, later: []time.Duration{9 * time.Second}},
		"over ten seconds": {rows: 2, later: []time.Duration{10 * time.Second}, want: true},
		"an answer":        {rows: 2, later: []time.Duration{20 * time.Second}, answer: true},
		"one row":          {rows: 1, later: []time.Duration{8 * time.Second, 4 * time.Minute}, want: true},
		"few for long":     {rows: 19, later: []time.Duration{5 * time.Minute}},
		"many for long":    {rows: 20, later: []time.Duration{5 * time.Hour}, want: true},
	} {
		var w way
		for i := range tc.rows {
			w.lose(strconv.Itoa(i), start)
		}
		got := false
		for i, at := range tc.later {
			if tc.answer && i == len(tc.later)-1 {
				w.open()
			}
			got = w.lose("0", start.Add(at))
		}
		if got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestLastAttemptInDoubt: rows that may be tried only once do not fail in the
// seconds before it is clear that there is no way.
func TestLastAttemptInDoubt(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		road := &breaking{to: r.sim, err: io.EOF, breaks: always}
		cfg := r.config()
		cfg.Client = r.clientVia(road, r.gate)
		run := r.enqueue(40, spec(func(s *jobs.Spec) { s.Attempts = 1 }))
		r.start(cfg)
		pass(30 * time.Second)
		if c, _ := r.store.Counts(t.Context(), run.ID); c[jobs.Failed] >= lostMost {
			t.Errorf("rows are %s", tally(c))
		}
		road.set(never)
		if c := r.await(run, 2*time.Minute); c[jobs.Done] <= 40-lostMost {
			t.Errorf("rows are %s", tally(c))
		}
	})
}
