package gemini

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/limiter"
)

// fakeGate gives every permit unless told otherwise, and keeps what it was asked.
type fakeGate struct {
	mu       sync.Mutex
	acquired []limiter.Request
	settled  []limiter.Settlement
	cooled   []cooling
	trips    []limiter.Trip
	reported []limiter.Feedback
	refuse   func(n int, r limiter.Request) error // n counts from 1
}

type cooling struct {
	lane   limiter.Lane
	d      time.Duration
	reason limiter.Reason
}

func (g *fakeGate) Acquire(_ context.Context, r limiter.Request) (*limiter.Permit, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acquired = append(g.acquired, r)
	if g.refuse != nil {
		if err := g.refuse(len(g.acquired), r); err != nil {
			return nil, err
		}
	}
	return &limiter.Permit{ID: r.ID, Lane: r.Lane, Class: r.Class, Amounts: r.Amounts}, nil
}

func (g *fakeGate) Settle(ctx context.Context, s limiter.Settlement) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.Partial { // a charge that was raised on the way
		return nil
	}
	g.settled = append(g.settled, s)
	return nil
}

func (g *fakeGate) Cool(_ context.Context, l limiter.Lane, d time.Duration, r limiter.Reason, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cooled = append(g.cooled, cooling{l, d, r})
	return nil
}

func (g *fakeGate) Trip(_ context.Context, x limiter.Trip) (limiter.BreakerState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trips = append(g.trips, x)
	return limiter.BreakerState{}, nil
}

func (g *fakeGate) Probed(context.Context, *limiter.Permit) error { return nil }

func (g *fakeGate) Report(_ context.Context, f limiter.Feedback) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reported = append(g.reported, f)
	return nil
}

// once gives the only settlement there must be.
func (g *fakeGate) once(t *testing.T) limiter.Settlement {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.settled) != 1 {
		t.Fatalf("settled %d times, want once: %+v", len(g.settled), g.settled)
	}
	return g.settled[0]
}

func (g *fakeGate) settlements() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.settled)
}

// pass lets time go by, on the clock of a test's bubble.
func pass(d time.Duration) { <-time.After(d) }

// sender is a base of one function.
type sender func(*http.Request) (*http.Response, error)

func (f sender) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func replies(status int, kind, body string) sender {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		return reply(status, kind, body), nil
	}
}

const (
	testKey  = "AIzaSyTestKeyTestKeyTestKeyTestKey12345"
	good     = `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":12,"thoughtsTokenCount":918,"totalTokenCount":938}}`
	question = `{"contents":[{"parts":[{"text":"hello"}]}]}`
)

func newTestTransport(t *testing.T, base http.RoundTripper, gate *fakeGate, change ...func(*TransportConfig)) *Transport {
	t.Helper()
	lanes, err := NewLaneMap("proj", "", Model{Name: "gemini-2.5-flash", Aliases: []string{"gemini-flash-latest"}}, Model{Name: "gemini-embedding-001", Context: 2048})
	if err != nil {
		t.Fatal(err)
	}
	cfg := TransportConfig{Base: base, APIKey: testKey, Gate: gate, Lanes: lanes}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := NewTransport(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func callCtx(ctx context.Context) (context.Context, *Observation) {
	return Observe(WithCaller(ctx, Caller{Class: "bulk", Feature: "test", Run: "r1", Row: "7"}))
}

func post(ctx context.Context, path, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, DefaultBaseURL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err)
	}
	return req
}

const generate = "/v1beta/models/gemini-2.5-flash:generateContent"

func TestUnary(t *testing.T) {
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(200, "application/json", good), gate)
	ctx, obs := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, generate, question))
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(resp.Body); string(body) != good {
		t.Errorf("body changed: %s", body)
	}
	s := gate.once(t)
	if s.Outcome != limiter.Settled || s.Used[limiter.InputTokens] != 8 || s.Used[limiter.OutputTokens] != 930 {
		t.Errorf("settlement %+v", s)
	}
	if obs.Verdict != nil || obs.Status != 200 || obs.Sent != 1 || !obs.HasUsage || obs.Finish != "STOP" {
		t.Errorf("observation %+v", obs)
	}
}

// freeGate gives permits and forgets them.
type freeGate struct{}

func (freeGate) Acquire(_ context.Context, r limiter.Request) (*limiter.Permit, error) {
	return &limiter.Permit{ID: r.ID, Lane: r.Lane}, nil
}

func (freeGate) Settle(context.Context, limiter.Settlement) error { return nil }
