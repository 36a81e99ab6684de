package gemini

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"nightshift/limiter"
)

func roundTrip(t *testing.T, base http.RoundTripper, gate *fakeGate) (*Observation, error) {
	t.Helper()
	tr := newTestTransport(t, base, gate)
	ctx, obs := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, generate, question))
	if resp != nil {
		resp.Body.Close()
	}
	return obs, err
}

// TestRefusedByTheProvider is settled as counted: the request and its input
// stay, output and money were never made.
func TestRefusedByTheProvider(t *testing.T) {
	for _, status := range []int{400, 403, 404, 429, 500, 503} {
		gate := &fakeGate{}
		obs, err := roundTrip(t, replies(status, "application/json", `{"error":{"message":"x"}}`), gate)
		if err != nil {
			t.Fatal(err)
		}
		s := gate.once(t)
		e := obs.Estimate
		if s.Outcome != limiter.Settled || s.Used[limiter.Requests] != 1 || s.Used[limiter.InputTokens] != e[limiter.InputTokens] ||
			s.Used[limiter.OutputTokens] != 0 || s.Used[limiter.MicroUSD] != 0 || s.Used[limiter.TotalTokens] != e[limiter.InputTokens] {
			t.Errorf("%d: %+v", status, s)
		}
		if obs.Verdict == nil || obs.Decision != limiter.AdmittedThenProviderRejected || obs.Sent != 1 {
			t.Errorf("%d: %+v", status, obs)
		}
		d := obs.Refusal()
		if d == nil || d.Reason != limiter.ReasonProvider || d.Decision != limiter.AdmittedThenProviderRejected || d.Class != "bulk" || d.Model != "gemini-2.5-flash" {
			t.Errorf("%d: refusal %+v", status, d)
		}
	}
}

// assumed is what a call is charged that may have been made: the estimate, and the
// money of an answer that is as long as one may be taken to be.
func assumed(t *testing.T, obs *Observation) limiter.Amounts {
	t.Helper()
	want := obs.Estimate
	cost, _ := EmbeddedPrices().Cost("gemini-2.5-flash", Usage{Prompt: want[limiter.InputTokens], Candidates: assumedOutput}, time.Now())
	want[limiter.MicroUSD] = cost
	if !obs.Assumed || cost == 0 || cost >= obs.Estimate[limiter.MicroUSD] {
		t.Errorf("assumed %v, %d micro-dollars of %d held", obs.Assumed, cost, obs.Estimate[limiter.MicroUSD])
	}
	return want
}

// TestLostAnswers are charged at what they may have taken: the call may have been made.
func TestLostAnswers(t *testing.T) {
	for name, base := range map[string]sender{
		"reset": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"cut": func(*http.Request) (*http.Response, error) {
			resp := reply(200, "application/json", "")
			resp.Body = io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))
			return resp, nil
		},
		"cancelled": func(*http.Request) (*http.Response, error) { return nil, context.Canceled },
	} {
		gate := &fakeGate{}
		obs, err := roundTrip(t, base, gate)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if s := gate.once(t); s.Outcome != limiter.Settled || s.Used != assumed(t, obs) {
			t.Errorf("%s: %+v, held %v", name, s, obs.Estimate)
		}
		if obs.Verdict == nil || obs.Verdict.Kind != Backoff {
			t.Errorf("%s: %+v", name, obs.Verdict)
		}
	}
}

// TestNeverSent gives everything back: no connection was ever made.
func TestNeverSent(t *testing.T) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	gate := &fakeGate{}
	obs, err := roundTrip(t, base, gate)
	if err == nil {
		t.Fatal("no error")
	}
	if s := gate.once(t); s.Outcome != limiter.Released {
		t.Errorf("%+v", s)
	}
	if obs.Sent != 0 || obs.Verdict == nil || obs.Verdict.Scope != ScopeWorker {
		t.Errorf("sent %d, %+v", obs.Sent, obs.Verdict)
	}
}

// TestSentAndLost had a connection, so it is charged.
func TestSentAndLost(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer srv.Close()
	gate := &fakeGate{}
	tr := newTestTransport(t, http.DefaultTransport, gate, func(c *TransportConfig) { c.BaseURL = srv.URL })
	ctx, obs := callCtx(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+generate, strings.NewReader(question))
	if _, err := tr.RoundTrip(req); err == nil {
		t.Fatal("no error")
	}
	if s := gate.once(t); s.Outcome != limiter.Settled || s.Used != assumed(t, obs) {
		t.Errorf("%+v", s)
	}
}

// TestNoModelAnswered: an error in a 200, and a page of something on the way, cost
// nothing, however much was held.
func TestNoModelAnswered(t *testing.T) {
	for name, body := range map[string]string{
		"html": "<html><body>Error 502</body></html>", "error": `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`,
	} {
		gate := &fakeGate{}
		obs, err := roundTrip(t, replies(200, "application/json", body), gate)
		if err != nil || obs.Assumed {
			t.Errorf("%s: %v, assumed %v", name, err, obs.Assumed)
		}
		if s := gate.once(t); s.Used[limiter.MicroUSD] != 0 || s.Used[limiter.OutputTokens] != 0 || s.Used[limiter.InputTokens] == 0 {
			t.Errorf("%s: %+v", name, s.Used)
		}
	}
}

func TestSenderPanics(t *testing.T) {
	gate := &fakeGate{}
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
		if s := gate.once(t); s.Outcome != limiter.Settled {
			t.Errorf("%+v", s)
		}
	}()
	_, _ = roundTrip(t, sender(func(*http.Request) (*http.Response, error) { panic("boom") }), gate)
}

// TestSettleOutlivesTheCaller: fakeGate refuses to settle under a dead context.
func TestSettleOutlivesTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gate := &fakeGate{}
	tr := newTestTransport(t, sender(func(*http.Request) (*http.Response, error) {
		cancel()
		return reply(200, "application/json", good), nil
	}), gate)
	ctx, _ = callCtx(ctx)
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
		t.Fatal(err)
	}
	gate.once(t)
}

// Test200sThatAreNone are failures that the SDK reports as empty successes.
func Test200sThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		kind   Kind
		reason string
	}{
		"empty":           {"", Backoff, ReasonEmptyBody},
		"blank":           {" \r\n ", Backoff, ReasonEmptyBody},
		"HTML":            {"<!DOCTYPE html><html>", Backoff, ReasonNotJSON},
		"text":            {"upstream connect error", Backoff, ReasonNotJSON},
		"cut":             {good[:len(good)-9], Backoff, ReasonCut},
		"error":           {`{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}`, Backoff, "overloaded"},
		"error in a list": {`[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Resource exhausted. Please try again later."}}]`, Backoff, "capacity"},
		"empty list":      {`[]`, Backoff, ReasonEmptyBody},
		"no candidates":   {`{"candidates":[],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`, Backoff, ReasonCut},
		"no content":      {`{"candidates":[{"finishReason":"STOP"}]}`, Backoff, ReasonNoAnswer},
		"blocked":         {`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, Permanent, ReasonBlocked},
		"recitation":      {`{"candidates":[{"finishReason":"RECITATION"}]}`, Permanent, ReasonFinish},
		"second is bad":   {`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"finishReason":"SAFETY"}]}`, Permanent, ReasonFinish},
	} {
		gate := &fakeGate{}
		obs, err := roundTrip(t, replies(200, "application/json", c.body), gate)
		if err != nil {
			t.Fatal(err)
		}
		gate.once(t)
		if v := obs.Verdict; v == nil || v.Kind != c.kind || v.Reason != c.reason {
			t.Errorf("%s: %+v, want %s %s", name, v, c.kind, c.reason)
		}
	}
	for name, body := range map[string]string{
		"null error":       `{"error":null,` + good[1:],
		"index 1 first":    `{"candidates":[{"index":1,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`,
		"a function call":  `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"error":{"code":500}}}}]},"finishReason":"STOP"}]}`,
		"speaks of errors": `{"candidates":[{"content":{"parts":[{"text":"{\"error\":{\"code\":429}}"}]},"finishReason":"STOP"}]}`,
	} {
		gate := &fakeGate{}
		if obs, _ := roundTrip(t, replies(200, "application/json", body), gate); obs.Verdict != nil {
			t.Errorf("%s: %+v", name, obs.Verdict)
		}
	}
}

// TestAnswerTooLarge is bounded memory: the call is charged, the answer given up.
func TestAnswerTooLarge(t *testing.T) {
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) { c.Bounds.Answer = 20 })
	ctx, obs := callCtx(t.Context())
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil || !strings.Contains(err.Error(), "larger than 20 bytes") {
		t.Fatal(err)
	}
	if s := gate.once(t); s.Used != assumed(t, obs) {
		t.Errorf("%+v", s)
	}
}

func TestLargerThanTheMinute(t *testing.T) {
	body := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"100"}]},{"retryDelay":"26s"}]}}`
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(429, "application/json", body), gate)
	for words, want := range map[int]Kind{5: Wait, 500: Permanent} {
		ctx, obs := callCtx(t.Context())
		q := `{"contents":[{"parts":[{"text":"` + strings.Repeat("word ", words) + `"}]}]}`
		if _, err := tr.RoundTrip(post(ctx, generate, q)); err != nil {
			t.Fatal(err)
		}
		if obs.Verdict.Kind != want {
			t.Errorf("%d words: %+v", words, obs.Verdict)
		}
	}
}
