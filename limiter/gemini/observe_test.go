package gemini

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// modelGate is the limiter's own rules on the bubble's clock.
type modelGate struct{ *limiter.Model }

func (g modelGate) Acquire(ctx context.Context, r limiter.Request) (*limiter.Permit, error) {
	g.SetNow(time.Now())
	return g.Model.Acquire(ctx, r)
}

func (g modelGate) Settle(ctx context.Context, s limiter.Settlement) error {
	g.SetNow(time.Now())
	return g.Model.Settle(ctx, s)
}

var projScope = limiter.Scope{Provider: "gemini", Project: "proj"}

func newModelGate(t *testing.T, limits limiter.Limits) modelGate {
	t.Helper()
	m := limiter.NewModel(projScope, time.Now())
	err := m.Configure(t.Context(), limiter.Config{
		Scope:   projScope,
		Lanes:   []limiter.LaneConfig{{Lane: flashLane, Limits: limits, Lend: "now"}},
		Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return modelGate{m}
}

var flashLane = limiter.Lane{Provider: "gemini", Project: "proj", Region: "global", Model: "gemini-2.5-flash"}

func observing(t *testing.T, gate Gate, records Records, base http.RoundTripper) *Transport {
	return newTestTransport(t, base, &fakeGate{}, func(c *TransportConfig) {
		c.Gate, c.Observe, c.Records, c.Base = gate, true, records, base
		c.MaxWait = map[string]time.Duration{"interactive": time.Minute}
	})
}

// TestObserveRefusesNothing: over the limit, closed, larger than a limit or the
// model's context, without limits, of an unknown class, with little time left:
// all goes out at once, and the record says what would have kept it.
func TestObserveRefusesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, records, hits := newModelGate(t, limiter.Limits{RPM: 3, InputTPM: 2000}), &kept{}, 0
		tr := observing(t, gate, records, counter(&hits, replies(200, "application/json", good)))
		long := `{"contents":[{"parts":[{"text":"` + strings.Repeat("hello ", 4000) + `"}]}]}`
		other := strings.Replace(generate, "2.5-flash", "9-new", 1)
		for i, c := range []struct{ path, body, class, over string }{
			{generate, question, "interactive", ""},
			{generate, question, "interactive", ""},
			{generate, question, "interactive", ""},
			{generate, question, "interactive", "rpm"},
			{generate, long, "interactive", "too_large"},
			{other, question, "interactive", "unknown_lane"},
			{generate, question, "nobody", "not_configured"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			ctx, obs := Observe(WithCaller(ctx, Caller{Class: c.class, Feature: "f"}))
			_, err := tr.RoundTrip(post(ctx, c.path, c.body))
			cancel()
			if err != nil || hits != i+1 || obs.Over != c.over || obs.Waited > 0 {
				t.Errorf("%d: %v, %d hits, over %q after %s; want %q", i, err, hits, obs.Over, obs.Waited, c.over)
			}
			want := Observed
			if c.over == "" {
				want = Admitted
			}
			if r := records.last(t); r.Decision != want || r.Over != c.over || !r.Sent || r.Used[limiter.InputTokens] != 8 || r.Lane == "" {
				t.Errorf("%d: %+v", i, r)
			}
		}
		s, err := gate.State(t.Context(), flashLane)
		if err != nil || s.InFlight != 0 || s.Limits[0].Used != 4 {
			t.Errorf("the limiter counted %+v, %v", s.Limits, err)
		}
	})
}

// silentGate gives no answer until its context ends.
type silentGate struct{ freeGate }

func (silentGate) Acquire(ctx context.Context, _ limiter.Request) (*limiter.Permit, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestObserveWithoutRedis: calls go out uncounted by the limiter, counted by the
// record, and only the first is held up by a Redis that gives no answer.
func TestObserveWithoutRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := &kept{}
		tr := observing(t, silentGate{}, records, replies(200, "application/json", good))
		for i := range 5 {
			begin := time.Now()
			obs, err := askAs(t, tr, "bulk")
			if err != nil || obs.Permit != nil || obs.Over != "" || obs.Used[limiter.OutputTokens] != 930 {
				t.Fatalf("%v, %+v", err, obs)
			}
			if took := time.Since(begin); took > time.Second || i > 0 && took > 0 {
				t.Errorf("call %d was held up for %s", i, took)
			}
			if r := records.last(t); r.Decision != Admitted || !r.Sent {
				t.Errorf("%+v", r)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ctx, _ = callCtx(ctx)
		if _, err := tr.RoundTrip(post(ctx, generate, question)); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that had hung up: %v", err)
		}
		synctest.Wait()
	})
}

// TestObserveStillWantsGemini: what is no request for Gemini does not go out.
func TestObserveStillWantsGemini(t *testing.T) {
	hits := 0
	tr := observing(t, freeGate{}, &kept{}, counter(&hits, replies(200, "application/json", good)))
	ctx, _ := callCtx(t.Context())
	for _, path := range []string{"/v1beta/files", "/v1beta/models/x:batchGenerateContent", "/v1beta/models/..:generateContent"} {
		var refused *RefusedError
		if _, err := tr.RoundTrip(post(ctx, path, question)); !errors.As(err, &refused) || hits != 0 {
			t.Errorf("%s: %v, %d hits", path, err, hits)
		}
	}
}

// TestObserveCountsTokensFreely: the transport's own small limit holds nothing back.
func TestObserveCountsTokensFreely(t *testing.T) {
	tr := observing(t, freeGate{}, &kept{}, replies(200, "application/json", `{"totalTokens":3}`))
	for range 400 {
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-2.5-flash:countTokens", question)); err != nil {
			t.Fatal(err)
		}
	}
}
