package gemini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

const streamPath = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"

// chunk is one event of a stream.
func chunk(text, finish string, prompt, candidates int) string {
	end := ""
	if finish != "" {
		end = fmt.Sprintf(`,"finishReason":%q`, finish)
	}
	usage := ""
	if prompt > 0 {
		usage = fmt.Sprintf(`,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d}`, prompt, candidates, prompt+candidates)
	}
	return fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":%q}]}%s}]%s}\r\n\r\n", text, end, usage)
}

func fiftyChunks() string {
	var b strings.Builder
	for i := 1; i < 50; i++ {
		b.WriteString(chunk("word ", "", 100, i))
	}
	b.WriteString(chunk("end", "STOP", 0, 0)) // the last chunk lacks usage
	return b.String()
}

// streamed passes a stream through the transport and reads it by pieces.
func streamed(t *testing.T, kind, body string, wrap func(io.Reader) io.Reader) (*fakeGate, *Observation, string) {
	t.Helper()
	gate := &fakeGate{}
	tr := newTestTransport(t, sender(func(*http.Request) (*http.Response, error) {
		resp := reply(200, kind, "")
		resp.Body = io.NopCloser(wrap(strings.NewReader(body)))
		return resp, nil
	}), gate)
	ctx, obs := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, streamPath, question))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	return gate, obs, string(got)
}

func whole(r io.Reader) io.Reader { return r }

func TestStreamUsageIsTheLastSnapshot(t *testing.T) {
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": whole, "byte by byte": iotest.OneByteReader, "halves": iotest.HalfReader, "EOF with data": iotest.DataErrReader,
	} {
		body := fiftyChunks()
		gate, obs, got := streamed(t, "text/event-stream; charset=utf-8", body, wrap)
		if got != body {
			t.Errorf("%s: bytes changed", name)
		}
		s := gate.once(t)
		if s.Used[limiter.InputTokens] != 100 || s.Used[limiter.OutputTokens] != 49 {
			t.Errorf("%s: used %v", name, s.Used)
		}
		if obs.Verdict != nil || obs.Finish != "STOP" {
			t.Errorf("%s: %+v %+v", name, obs.Verdict, obs.Finish)
		}
	}
}

// TestStreamsThatAreNoAnswer are 200s that the SDK takes for good ones.
func TestStreamsThatAreNoAnswer(t *testing.T) {
	good := chunk("a", "", 10, 1)
	for name, c := range map[string]struct {
		body   string
		kind   Kind
		scope  Scope
		reason string
	}{
		"ends without a finishReason":  {good + good, Backoff, ScopeJob, ReasonCut},
		"ends inside a chunk":          {good + `data: {"candidates":[{"content":{"par`, Backoff, ScopeModel, ReasonCut},
		"a chunk is cut, then goes on": {"data: {\"candidates\":[\n\n" + chunk("b", "STOP", 10, 2), Backoff, ScopeModel, ReasonCut},
		"empty":                        {"", Backoff, ScopeModel, ReasonEmptyBody},
		"only comments":                {": hello\n\n: hello\n\n", Backoff, ScopeModel, ReasonEmptyBody},
		"HTML":                         {"<html><body>oops</body></html>", Backoff, ScopeModel, ReasonNotJSON},
		"error event": {
			good + "data: {\"error\":{\"code\":503,\"message\":\"overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n", Backoff, ScopeModel, "overloaded",
		},
		"error as a bare line": {
			good + "{\"error\":{\"code\":400,\"message\":\"API key not valid.\",\"details\":[{\"reason\":\"API_KEY_INVALID\"}]}}\n", Permanent, ScopeProject, "api_key_invalid",
		},
		"error with a quota": {
			good + `data: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel","quotaValue":"100"}]}]}}` + "\n\n", DailyReset, ScopeModel, "rpd",
		},
		"blocked prompt":  {`data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}` + "\n\n", Permanent, ScopeJob, ReasonBlocked},
		"blocked answer":  {good + chunk("", "SAFETY", 10, 2), Permanent, ScopeJob, ReasonFinish},
		"cap reached":     {good + chunk("", "MAX_TOKENS", 10, 2), Permanent, ScopeJob, ReasonMaxTokens},
		"nothing in it":   {chunk("", "STOP", 10, 0), Backoff, ScopeJob, ReasonNoAnswer},
		"thoughts only":   {`data: {"candidates":[{"content":{"parts":[{"thought":true,"text":"hm"}]},"finishReason":"STOP"}]}` + "\n\n", Backoff, ScopeJob, ReasonNoAnswer},
		"a bad tool call": {good + chunk("", "MALFORMED_FUNCTION_CALL", 10, 2), Backoff, ScopeJob, ReasonFinishRetry},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{whole, iotest.OneByteReader} {
			gate, obs, got := streamed(t, "text/event-stream", c.body, wrap)
			if got != c.body {
				t.Errorf("%s: bytes changed", name)
			}
			gate.once(t)
			v := obs.Verdict
			if v == nil || v.Kind != c.kind || v.Scope != c.scope || v.Reason != c.reason {
				t.Errorf("%s: %+v, want %s/%s %s", name, v, c.kind, c.scope, c.reason)
			}
		}
	}
}

func TestStreamAsJSONArray(t *testing.T) {
	body := "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]}\n,\r\n" +
		`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10}}]`
	gate, obs, _ := streamed(t, "application/json", body, iotest.OneByteReader)
	if s := gate.once(t); s.Used[limiter.InputTokens] != 7 || obs.Verdict != nil {
		t.Errorf("%v %+v", s.Used, obs.Verdict)
	}
	_, obs, _ = streamed(t, "application/json", body[:len(body)-1], whole)
	if obs.Verdict == nil || obs.Verdict.Reason != ReasonCut {
		t.Errorf("without its end: %+v", obs.Verdict)
	}
}

func TestStreamLineOfAnyLength(t *testing.T) {
	image := strings.Repeat("iVBORw0KGgo", 1<<19)
	body := `data: {"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + image + `"}}]},"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1120,"totalTokenCount":1127}}` + "\n\n"
	gate, obs, got := streamed(t, "text/event-stream", body, whole)
	if s := gate.once(t); len(got) != len(body) || s.Used[limiter.OutputTokens] != 1120 || obs.Verdict != nil {
		t.Errorf("%d of %d bytes, %v, %+v", len(got), len(body), s.Used, obs.Verdict)
	}
}

// endless is a stream that sends its beginning and then nothing, until it is
// closed or the context ends.
type endless struct {
	ctx    context.Context
	first  io.Reader
	closed chan struct{}
	once   sync.Once
}

func (e *endless) Read(p []byte) (int, error) {
	if n, err := e.first.Read(p); err == nil {
		return n, nil
	}
	select {
	case <-e.ctx.Done():
		return 0, e.ctx.Err()
	case <-e.closed:
		return 0, errors.New("read after close")
	}
}

func (e *endless) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

func startEndless(ctx context.Context, t *testing.T, gate *fakeGate, begin string) io.ReadCloser {
	t.Helper()
	tr := newTestTransport(t, sender(func(r *http.Request) (*http.Response, error) {
		resp := reply(200, "text/event-stream", "")
		resp.Body = &endless{ctx: r.Context(), first: strings.NewReader(begin), closed: make(chan struct{})}
		return resp, nil
	}), gate)
	resp, err := tr.RoundTrip(post(ctx, streamPath, question))
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body
}

func TestStreamCancelledByItsReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gate := &fakeGate{}
	ctx, obs := callCtx(ctx)
	body := startEndless(ctx, t, gate, chunk("a", "", 100, 7))
	if _, err := body.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := body.Read(make([]byte, 4096)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s := gate.once(t)
	if s.Outcome != limiter.Settled || s.Used[limiter.InputTokens] != 100 || s.Used[limiter.OutputTokens] != 7 {
		t.Errorf("%+v", s)
	}
	if obs.Verdict == nil || obs.Verdict.Reason != "cancelled" || obs.Verdict.Scope != ScopeJob {
		t.Errorf("%+v", obs.Verdict)
	}
	body.Close()
	gate.once(t)
}

func TestStreamClosedBeforeItsEnd(t *testing.T) {
	gate := &fakeGate{}
	ctx, obs := callCtx(t.Context())
	body := startEndless(ctx, t, gate, "")
	body.Close()
	s := gate.once(t)
	if s.Used[limiter.OutputTokens] != obs.Estimate[limiter.OutputTokens] {
		t.Errorf("without usage the estimate stands: %v, %v", s.Used, obs.Estimate)
	}
	body.Close() // again
	gate.once(t)
}

// TestStreamClosedAfterItsLastChunk is how readers behave that stop at the
// finishReason.
func TestStreamClosedAfterItsLastChunk(t *testing.T) {
	gate := &fakeGate{}
	ctx, obs := callCtx(t.Context())
	body := startEndless(ctx, t, gate, chunk("a", "STOP", 100, 7))
	if _, err := body.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	body.Close()
	if gate.once(t); obs.Verdict != nil {
		t.Errorf("%+v", obs.Verdict)
	}
}

// TestStreamThatNobodyReads settles when its context ends.
func TestStreamThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		gate := &fakeGate{}
		ctx, _ = callCtx(ctx)
		_ = startEndless(ctx, t, gate, chunk("a", "", 100, 7))
		pass(59 * time.Second) // of the test's own clock
		synctest.Wait()
		if gate.settlements() != 0 {
			t.Fatal("settled too soon")
		}
		pass(2 * time.Second)
		synctest.Wait()
		gate.once(t)
	})
}

func TestStreamBreaks(t *testing.T) {
	gate, obs, _ := streamed(t, "text/event-stream", chunk("a", "", 100, 7), func(r io.Reader) io.Reader {
		return io.MultiReader(r, iotest.ErrReader(io.ErrUnexpectedEOF))
	})
	s := gate.once(t)
	if s.Used[limiter.OutputTokens] != 7 || obs.Verdict == nil || obs.Verdict.Reason != "connection" {
		t.Errorf("%v %+v", s.Used, obs.Verdict)
	}
}

func TestStreamRefused(t *testing.T) {
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(429, "application/json", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x, limit: 10\nPlease retry in 12.5s."}}]`), gate)
	ctx, obs := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, streamPath, question))
	if err != nil || resp.StatusCode != 429 {
		t.Fatal(resp, err)
	}
	gate.once(t)
	if obs.Verdict.Kind != Wait || obs.Verdict.RetryAfter != 13*time.Second {
		t.Errorf("%+v", obs.Verdict)
	}
}
