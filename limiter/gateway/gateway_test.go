package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

const (
	providerKey = "AIzaSyProviderProviderProviderProvider1"
	theirKey    = "AIzaSyTheirsTheirsTheirsTheirsTheirs123"
	flash       = "gemini-2.5-flash"
	generate    = "/v1beta/models/" + flash + ":generateContent"
	stream      = "/v1beta/models/" + flash + ":streamGenerateContent?alt=sse"
	question    = `{"contents":[{"parts":[{"text":"hello"}]}]}`
)

// setup is a gateway over the limiter on an embedded Redis and the simulated Gemini.
type setup struct {
	*testing.T
	sim   *geminitest.Server
	redis *miniredis.Miniredis
	lim   *limiter.Redis
	keys  *Keys
	gate  *Gateway
	url   string
	log   *logged
	lane  limiter.Lane
}

// knobs are what a test may change.
type knobs struct {
	limits    limiter.Limits
	sim       geminitest.Config
	base      http.RoundTripper // instead of the simulated Gemini
	transport func(*gemini.TransportConfig)
	config    func(*Config)
	models    []gemini.Model        // beside the two that there always are
	rdb       redis.UniversalClient // instead of the embedded Redis
}

func start(t *testing.T, k knobs) *setup {
	t.Helper()
	s := &setup{T: t, sim: geminitest.MustNew(k.sim), redis: miniredis.RunT(t), log: &logged{}}
	models := append([]gemini.Model{{Name: flash}, {Name: "gemini-embedding-001", Context: 2048}}, k.models...)
	lanes, err := gemini.NewLaneMap("proj", "", models...)
	s.must(err)
	s.lane, _, err = lanes.Lookup(flash)
	s.must(err)
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	if k.rdb != nil {
		return s.over(k, k.rdb, lanes)
	}
	return s.over(k, rdb, lanes)
}

// over makes the rest of it over a Redis.
func (s *setup) over(k knobs, rdb redis.UniversalClient, lanes *gemini.LaneMap) *setup {
	s.Helper()
	s.configure(rdb, lanes, k.limits)
	tc := gemini.TransportConfig{Base: s.sim, APIKey: providerKey, Gate: s.lim, Lanes: lanes, Logger: s.log.logger()}
	if k.base != nil {
		tc.Base = k.base
	}
	if k.transport != nil {
		k.transport(&tc)
	}
	transport, err := gemini.NewTransport(tc)
	s.must(err)
	s.keys = NewKeys(rdb, nil)
	c := Config{Transport: transport, Keys: s.keys, Classes: []string{"interactive", "bulk"}, Lanes: lanes, Logger: s.log.logger(),
		Permits: gemini.NewLender(transport, gemini.NewLoanStore(rdb, s.lane.Scope(), nil))}
	if k.config != nil {
		k.config(&c)
	}
	s.gate, err = New(c)
	s.must(err)
	server := httptest.NewUnstartedServer(s.gate)
	server.Config.ErrorLog = slog.NewLogLogger(s.log.logger().Handler(), slog.LevelDebug)
	server.Start()
	s.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *setup) configure(rdb redis.UniversalClient, lanes *gemini.LaneMap, limits limiter.Limits) {
	s.Helper()
	scope := s.lane.Scope()
	s.lim = limiter.NewRedis(rdb, scope, limiter.RedisOptions{Timeout: 30 * time.Second}) // a busy machine is no outage
	if limits == (limiter.Limits{}) {
		limits = limiter.Limits{RPM: 10_000, InputTPM: 100_000_000, Concurrency: 1000}
	}
	c := limiter.Config{Scope: scope, Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}}
	for _, lane := range lanes.Lanes() {
		c.Lanes = append(c.Lanes, limiter.LaneConfig{Lane: lane, Limits: limits, Lend: "now"})
	}
	s.must(s.lim.Configure(s.Context(), c))
}

func (s *setup) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// key makes a key for class and feature.
func (s *setup) key(class, feature string) string {
	s.Helper()
	secret, _, err := s.keys.Add(s.Context(), Identity{Name: "test", Project: "proj", Class: class, Feature: feature})
	s.must(err)
	return secret
}

// chat is a key as most have it.
func (s *setup) chat() string { return s.key("interactive", "chat") }

// client is the genai SDK with a key and a base URL changed, and nothing else.
func (s *setup) client(key string) *genai.Client {
	s.Helper()
	c, err := genai.NewClient(s.Context(), &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.url},
	})
	s.must(err)
	return c
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// send makes a plain HTTP request; header pairs name and value.
func (s *setup) send(method, path, body string, header ...string) answer {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	s.must(err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return s.do(req)
}

func (s *setup) do(req *http.Request) answer {
	s.Helper()
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	s.must(err)
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// rpcError reads an error in Gemini's shape, which every refusal must have.
func (s *setup) rpcError(a answer) apiError {
	s.Helper()
	var e struct{ Error apiError }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Error.Code != a.status || e.Error.Status == "" || e.Error.Message == "" {
		s.Fatalf("status %d with a body that is no google.rpc.Status: %s", a.status, a.body)
	}
	if a.header.Get("X-Nightshift-Trace-Id") == "" || a.header.Get("X-Nightshift-Decision") == "" {
		s.Errorf("headers without trace id and decision: %v", a.header)
	}
	return e.Error
}

// refused checks status and text of a refusal, and that nothing was sent or charged for it.
func (s *setup) refused(a answer, status int, text string) apiError {
	s.Helper()
	if a.status != status {
		s.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	e := s.rpcError(a)
	if !strings.Contains(e.Message, text) {
		s.Errorf("message %q, want one with %q", e.Message, text)
	}
	s.untouched()
	return e
}

// untouched checks that no call came through and no permit was taken.
func (s *setup) untouched() {
	s.Helper()
	if n := len(s.sim.Calls()); n != 0 {
		s.Errorf("%d calls reached the provider", n)
	}
	if used := s.used("rpm"); used != 0 {
		s.Errorf("%d requests are charged", used)
	}
}

func (s *setup) state() limiter.LaneState {
	s.Helper()
	st, err := s.lim.State(context.WithoutCancel(s.Context()), s.lane)
	s.must(err)
	return st
}

// used is what is charged against a limit of the lane.
func (s *setup) used(limit string) int64 {
	s.Helper()
	for _, l := range s.state().Limits {
		if l.Name == limit {
			return l.Used
		}
	}
	s.Fatalf("no limit %s", limit)
	return 0
}

// eventually waits until something holds.
func (s *setup) eventually(what string, holds func() bool) {
	s.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.Fatalf("not within 20 s: %s", what)
		}
	}
}

// logged keeps everything that is logged, debug lines too.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// sender is a way out of one function.
type sender func(*http.Request) (*http.Response, error)

func (f sender) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)),
	}
}
