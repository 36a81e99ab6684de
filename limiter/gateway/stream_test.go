package gateway

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

const (
	event = `data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":1,"totalTokenCount":2}}` + "\r\n\r\n"
	last  = `data: {"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3}}` + "\r\n\r\n"
)

// piped is a provider whose stream the test writes.
func piped(kind string) (base sender, w *io.PipeWriter) {
	r, w := io.Pipe()
	return func(*http.Request) (*http.Response, error) {
		resp := reply(200, kind, "")
		resp.ContentLength, resp.Body = -1, r
		resp.Header.Set("Alt-Svc", `h3=":443"`)
		return resp, nil
	}, w
}

// TestEachEventAtOnce: the headers, and then each event, are there before the
// provider sends the next, and nothing is added to them.
func TestEachEventAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, kind, first, last string }{
		"events":                {stream, "text/event-stream", event, last},
		"array":                 {strings.TrimSuffix(stream, "?alt=sse"), "application/json", "[" + event[6:len(event)-4] + ",\r\n", last[6:len(last)-4] + "]\r\n"},
		"array of known length": {strings.TrimSuffix(stream, "?alt=sse"), "application/json", "[" + event[6:len(event)-4] + ",\r\n", last[6:len(last)-4] + "]\r\n"},
	} {
		base, w := piped(c.kind)
		s := start(t, knobs{base: sender(func(r *http.Request) (*http.Response, error) {
			resp, err := base(r)
			if name == "array of known length" {
				resp.ContentLength = int64(len(c.first + c.last))
			}
			return resp, err
		})})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+c.path, strings.NewReader(question))
		s.must(err)
		req.Header.Set("X-Goog-Api-Key", s.chat())
		resp, err := http.DefaultClient.Do(req) // returns before anything was written
		s.must(err)
		body := bufio.NewReader(resp.Body)
		for _, part := range []string{c.first, c.last} {
			go func() { _, _ = io.WriteString(w, part) }()
			got := make([]byte, len(part))
			if _, err := io.ReadFull(body, got); err != nil || string(got) != part {
				t.Fatalf("%s: %q, %v; want %q", name, got, err, part)
			}
		}
		s.must(w.Close())
		if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
			t.Errorf("%s: at the end %q, %v", name, rest, err)
		}
		s.must(resp.Body.Close())
		if h := resp.Header; h.Get("X-Accel-Buffering") != "no" || h.Get("X-Nightshift-Decision") != "admitted" ||
			h.Get("X-Nightshift-Estimate") == "" || h.Get("X-Nightshift-Waited-Ms") == "" || h.Get("Alt-Svc") != "" || h.Get("X-Nightshift-Usage") != "" {
			t.Errorf("%s: headers %v", name, h)
		}
		s.eventually("the stream is settled by its usage", func() bool { return s.state().InFlight == 0 && s.used("input_tpm") == 1 })
	}
}

// TestUnarySaysWhatItTook: usage, cost and trace are in the headers, and the
// caller's own trace id is taken over.
func TestUnarySaysWhatItTook(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{base: sender(func(r *http.Request) (*http.Response, error) {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Nightshift") {
				t.Errorf("the provider got %s", name)
			}
		}
		resp := reply(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":8,"cachedContentTokenCount":3,"candidatesTokenCount":12,"thoughtsTokenCount":918,"totalTokenCount":938}}`)
		resp.Header.Set("X-Nightshift-Decision", "forged")
		return resp, nil
	})})
	for _, c := range []struct{ name, value, want string }{
		{"x-nightshift-trace", "order-4711-a", "order-4711-a"},
		{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"x-nightshift-trace", "bad one\x7f", ""},
	} {
		if c.want == "" && strings.Contains(c.value, "\x7f") {
			c.value = "bad one"
		}
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat(), c.name, c.value)
		h := got.header
		trace := h.Get("X-Nightshift-Trace-Id")
		if c.want != "" && trace != c.want || c.want == "" && (len(trace) != 32 || strings.Trim(trace, "0") == "") {
			t.Errorf("%s %q: trace id %q", c.name, c.value, trace)
		}
		if h.Get("X-Nightshift-Usage") != "input_tokens=8, output_tokens=930, total_tokens=938, cached_tokens=3" || h.Get("X-Nightshift-Decision") != "admitted" ||
			h.Get("X-Nightshift-Cost-Micro-Usd") == "" || h.Get("X-Nightshift-Cost-Micro-Usd") == "0" || !strings.HasPrefix(h.Get("X-Nightshift-Estimate"), "requests=1, input_tokens=") {
			t.Errorf("headers %v", h)
		}
	}
}

// TestAbandoned: two hundred callers who leave, before the first byte, in
// mid-stream and while a unary answer is made, leave no permit, no call, no
// goroutine and no money behind: what is charged is what the calls settled with,
// and nothing is held. It runs alone, since it looks at the whole process.
func TestAbandoned(t *testing.T) {
	var open atomic.Int64 // calls at the provider
	records := &seen{}
	s := start(t, knobs{rdb: clientRedis(t), limits: limiter.Limits{RPM: 10_000, Concurrency: 1000, USDPerDay: 1_000_000_000, USDPer10m: 1_000_000_000},
		transport: func(c *gemini.TransportConfig) { c.Records = records }, base: sender(func(r *http.Request) (*http.Response, error) {
			open.Add(1)
			if strings.HasSuffix(r.URL.Path, ":generateContent") || r.Header.Get("X-Test-Silent") != "" {
				<-r.Context().Done()
				open.Add(-1)
				return nil, r.Context().Err()
			}
			resp := reply(200, "text/event-stream", "")
			resp.ContentLength = -1
			resp.Body = &endless{ctx: r.Context(), open: &open, rest: event}
			return resp, nil
		})})
	key := s.chat()
	transport := &http.Transport{}
	client := &http.Client{Transport: transport}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() { s.abandon(client, key, i) })
	}
	all.Wait()
	transport.CloseIdleConnections()
	s.eventually("no call is open at the provider", func() bool { return open.Load() == 0 })
	s.eventually("no permit is open", func() bool { return s.state().InFlight == 0 })
	s.eventually("no goroutine is left over", func() bool { return callsRunning() == 0 })
	if used := s.used("rpm"); used == 0 || used > 200 {
		t.Errorf("%d requests are charged for at most 200 calls that were sent", used)
	}
	records.mu.Lock()
	defer records.mu.Unlock()
	var settled, held int64
	for _, r := range records.kept {
		settled, held = settled+r.Used[limiter.MicroUSD], held+r.Estimate[limiter.MicroUSD]
	}
	for _, limit := range []string{"usd_per_day", "usd_per_10m"} {
		if used := s.used(limit); len(records.kept) != 200 || used != settled || used == 0 || used >= held {
			t.Errorf("%s: %d micro-dollars are charged, %d records settled with %d of %d held", limit, used, len(records.kept), settled, held)
		}
	}
	if n := s.used("concurrency"); n != 0 {
		t.Errorf("concurrency %d is held", n)
	}
}

// callsRunning counts the goroutines that are in a call, on either side of the gateway.
func callsRunning() int {
	buf := make([]byte, 4<<20)
	all := string(buf[:runtime.Stack(buf, true)])
	n := 0
	for g := range strings.SplitSeq(all, "\n\n") {
		if strings.Contains(g, "gateway.(*visit)") || strings.Contains(g, "gateway.(*endless)") || strings.Contains(g, "gemini.(*call)") || strings.Contains(g, "gemini.(*streamBody)") {
			n++
		}
	}
	return n
}

// abandon makes a call and leaves it: in mid-stream, before the first byte of a
// stream, or waiting for a unary answer.
func (s *setup) abandon(client *http.Client, key string, i int) {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	path := stream
	if i%3 == 2 {
		path = generate
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(question))
	if err != nil {
		s.Error(err)
		return
	}
	req.Header.Set("X-Goog-Api-Key", key)
	if i%3 == 0 {
		resp, err := client.Do(req)
		if err != nil {
			s.Error(err)
			return
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, len(event))); err != nil {
			s.Error(err)
		}
		cancel()
		return
	}
	req.Header.Set("X-Test-Silent", "1")
	sent := make(chan struct{})
	go func() {
		<-sent
		cancel()
	}()
	req.Body = io.NopCloser(&tellEnd{Reader: strings.NewReader(question), end: sent})
	if resp, err := client.Do(req); err == nil {
		resp.Body.Close()
		s.Error("an abandoned call got an answer")
	}
}

// tellEnd tells when all was read.
type tellEnd struct {
	io.Reader
	end  chan struct{}
	once sync.Once
}

func (r *tellEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.once.Do(func() { close(r.end) })
	}
	return n, err
}

// endless is a stream of one event that then waits for the end of its call.
type endless struct {
	ctx  context.Context
	open *atomic.Int64
	rest string
	once sync.Once
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		<-e.ctx.Done()
		return 0, e.ctx.Err()
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *endless) Close() error {
	e.once.Do(func() { e.open.Add(-1) })
	return nil
}

// TestSDKAborts: a loop over the SDK's stream that ends early settles the call.
func TestSDKAborts(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{sim: geminitest.Config{Latency: geminitest.Latency{PerToken: 1e6}}})
	c := s.client(s.chat())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for part, err := range c.Models.GenerateContentStream(ctx, flash, genai.Text(strings.Repeat("tell me a long story ", 50)), nil) {
		s.must(err)
		if part.Text() != "" {
			break
		}
	}
	cancel()
	s.eventually("the permit is settled", func() bool { return s.state().InFlight == 0 })
}

// TestHTTP2: body, stream and the bounds of each piece work over it too.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{base: sender(func(*http.Request) (*http.Response, error) {
		resp := reply(200, "text/event-stream", event+last)
		resp.ContentLength = -1
		return resp, nil
	})})
	server := httptest.NewUnstartedServer(s.gate)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	body := `{"contents":[{"parts":[{"text":"` + strings.Repeat("word ", 20_000) + `"}]}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+stream, strings.NewReader(body))
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", s.chat())
	resp, err := server.Client().Do(req)
	s.must(err)
	if got := read(t, resp); resp.ProtoMajor != 2 || got.status != http.StatusOK || got.body != event+last {
		t.Errorf("%s: %d %s", resp.Proto, got.status, got.body)
	}
	s.eventually("the permit is settled", func() bool { return s.state().InFlight == 0 })
}

// TestStreamThatBreaksOff looks broken off to the client too, not whole.
func TestStreamThatBreaksOff(t *testing.T) {
	t.Parallel()
	base, w := piped("text/event-stream")
	s := start(t, knobs{base: base})
	go func() {
		_, _ = io.WriteString(w, event)
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+stream, strings.NewReader(question))
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", s.chat())
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil || string(got) != event {
		t.Errorf("%q, %v", got, err)
	}
}
