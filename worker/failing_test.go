package worker

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// noting is a gate that keeps events.
type noting struct {
	*testGate
	mu     sync.Mutex
	events []limiter.Event
}

func (n *noting) Note(_ context.Context, e limiter.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
	return nil
}

func (n *noting) texts() (out []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		out = append(out, e.Text)
	}
	return out
}

// fails is what the fleet says of the lane.
func (r *rig) fails() *Failing {
	r.Helper()
	fleet, err := Fleet(r.Context(), r.rdb)
	if err != nil {
		r.Fatal(err)
	}
	return ProviderFails(fleet, testLane)
}

// TestProviderFails: while the provider answers 503 every worker's entry says so,
// the fleet has one event of its beginning and one of its end, and good answers end
// it.
func TestProviderFails(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t, geminitest.Fault{Kind: geminitest.Fault503, After: 20 * time.Second, Until: 90 * time.Second})
		gate := &noting{testGate: r.gate}
		run := r.enqueue(120, spec(func(s *jobs.Spec) { s.Attempts = 3 }))
		began := time.Now()
		for range 3 {
			cfg := r.config()
			cfg.Gate, cfg.Concurrency = gate, 1
			r.start(cfg)
		}
		pass(15 * time.Second)
		if f := r.fails(); f != nil || len(gate.texts()) > 0 {
			t.Errorf("before anything failed: %+v, events %q", f, gate.texts())
		}
		pass(45 * time.Second)
		f := r.fails()
		if f == nil || f.Says() != "answers 503 (overloaded)" || f.Failed < failingLeast || f.Failed > f.Of || f.Of > 3*failingOf {
			t.Fatalf("the fleet says %+v", f)
		}
		if since := f.Since.Sub(began); since < 20*time.Second || since > 25*time.Second {
			t.Errorf("since %v after the start, want 20 s", since)
		}
		if got := gate.texts(); len(got) != 1 || !strings.Contains(got[0], testModel+": the provider answers 503 (overloaded): ") || !strings.Contains(got[0], "calls failed; rows wait and are tried again") {
			t.Errorf("events: %q", got)
		}
		r.await(run, 20*time.Minute)
		pass(time.Minute)
		if f := r.fails(); f != nil {
			t.Errorf("the fleet still says %+v", f)
		}
		got := gate.texts()
		if len(got) != 2 || !strings.Contains(got[1], "the provider does not fail any more; calls failed for ") {
			t.Fatalf("events: %q", got)
		}
		if gate.events[0].Kind != limiter.EventProvider || gate.events[0].Subject != testLane {
			t.Errorf("%+v", gate.events[0])
		}
	})
}

// TestProviderFailsOf: what people are told of each way to fail.
func TestProviderFailsOf(t *testing.T) {
	for kind, want := range map[geminitest.FaultKind]string{
		geminitest.Fault500:         "answers 500 (server_error)",
		geminitest.Fault502:         "answers 502 (server_error)",
		geminitest.Fault503:         "answers 503 (overloaded)",
		geminitest.Fault504:         "answers 504 (timeout)",
		geminitest.FaultCut:         "gives no whole answer (connection)",
		geminitest.FaultHTML:        "gives no whole answer (not_json)",
		geminitest.FaultEmpty:       "gives no whole answer (empty_body)",
		geminitest.FaultReset:       "breaks connections off (connection)",
		geminitest.Fault429Capacity: "answers 429 (capacity)",
	} {
		t.Run(string(kind), func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				r := newRig(t, geminitest.Fault{Kind: kind})
				r.enqueue(40, spec())
				r.start(r.config())
				pass(8 * time.Second)
				if f := r.fails(); f == nil || f.Says() != want {
					t.Errorf("%+v, want %q", f, want)
				}
			})
		})
	}
}

// TestLastCalls: some failures among many are none of the provider's, half of the
// calls are; good answers in a row, or silence, end it.
func TestLastCalls(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	busy, cut := FailCause{Status: 503, Reason: "overloaded"}, FailCause{Reason: "connection"}
	var l lastCalls
	meet := func(cs ...FailCause) {
		for _, c := range cs {
			at = at.Add(time.Second)
			l.met(c, at)
		}
	}
	for range 30 {
		meet(busy, FailCause{}, FailCause{})
	}
	if f := l.trouble(at); f != nil {
		t.Fatalf("a third of the calls: %+v", f)
	}
	meet(busy, busy, busy, cut, cut)
	began := l.trouble(at)
	if began == nil || began.Says() != "answers 503 (overloaded), also nothing (connection)" || began.Of != failingOf {
		t.Fatalf("half of the calls: %+v", began)
	}
	meet(FailCause{}, FailCause{}, FailCause{}, FailCause{}, busy)
	if f := l.trouble(at); f == nil || !f.Since.Equal(began.Since) {
		t.Errorf("four good answers: %+v, want it to go on since %v", f, began.Since)
	}
	meet(FailCause{}, FailCause{}, FailCause{}, FailCause{}, FailCause{})
	if f := l.trouble(at); f != nil {
		t.Errorf("five good answers: %+v", f)
	}
	meet(busy, busy, busy, busy, busy)
	if l.trouble(at.Add(failingKept-10*time.Second)) == nil || l.trouble(at.Add(failingKept+time.Second)) != nil {
		t.Error("it should end by itself when nothing was asked for so long, and not before")
	}
}
