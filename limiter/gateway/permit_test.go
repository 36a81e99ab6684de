package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

const onePermit = `{"model":"` + flash + `","request":` + question + `}`

// permit takes one with a key.
func (s *setup) permit(key string) permitAnswer {
	s.Helper()
	return s.permitOf(s.exchange(true, http.MethodPost, permitsPath, onePermit, "x-goog-api-key", key))
}

func (s *setup) permitOf(got answer) permitAnswer {
	s.Helper()
	var p permitAnswer
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != http.StatusOK {
		s.Fatalf("%d %v: %s", got.status, err, got.body)
	}
	return p
}

// TestPermitLife takes a permit, looks at it, extends it, says what was used so far
// and at last, all by the description.
func TestPermitLife(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	got := s.exchange(true, http.MethodPost, permitsPath, `{"model":"models/`+flash+`","request":`+question+`,"wait_ms":0,"lease_ms":60000,"request_id":"a.1"}`, "x-goog-api-key", key)
	p := s.permitOf(got)
	if p.State != "open" || p.Charged["input_tokens"] == 0 || p.Charged["micro_usd"] == 0 || p.Class != "interactive" || p.Feature != "chat" || p.Model != flash ||
		p.LeaseMS <= 0 || p.LeaseMS > 60000 || !p.ExpiresAt.Equal(p.GrantedAt.Add(time.Minute)) || p.Repeated || got.header.Get(headerDecision) != "admitted" || got.header.Get(headerTraceID) != p.TraceID || got.header.Get(headerEstimate) == "" {
		t.Errorf("%+v %v", p, got.header)
	}
	one := permitsPath + "/" + p.ID
	if again := s.permitOf(s.exchange(true, http.MethodGet, one, "", "x-goog-api-key", key)); again.State != "open" || again.ID != p.ID {
		t.Errorf("%+v", again)
	}
	if x := s.permitOf(s.exchange(true, http.MethodPost, one+"/extend", `{"lease_ms":900000}`, "x-goog-api-key", key)); x.LeaseMS <= 60000 || x.LeaseMS > 900000 || !x.ExpiresAt.After(p.ExpiresAt) {
		t.Errorf("%+v", x)
	}
	if x := s.permitOf(s.exchange(true, http.MethodPost, one+"/settle", `{"partial":true,"usage":{"input_tokens":3,"output_tokens":70000}}`, "x-goog-api-key", key)); x.State != "open" || x.Charged["output_tokens"] != 70000 {
		t.Errorf("%+v", x)
	}
	got = s.exchange(true, http.MethodPost, one+"/settle", `{"status":200,"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":12,"totalTokenCount":17},"latency_ms":840,"first_token_ms":100,"finish_reason":"STOP","error":null}`, "x-goog-api-key", key)
	if x := s.permitOf(got); x.State != "settled" || x.Charged["input_tokens"] != 5 || x.Charged["micro_usd"] != 32 || x.Verdict != nil || got.header.Get(headerCost) != "32" || got.header.Get(headerUsage) == "" {
		t.Errorf("%+v %v", x, got.header)
	}
	got = s.exchange(true, http.MethodPost, one+"/settle", `{"status":500}`, "x-goog-api-key", key)
	if x := s.permitOf(got); !x.Repeated || x.Charged["input_tokens"] != 5 || got.header.Get(headerCost) != "32" {
		t.Errorf("%+v %v", x, got.header)
	}
	got = s.exchange(true, http.MethodPost, one+"/release", `{}`, "x-goog-api-key", key)
	if e := s.rpcError(got); got.status != http.StatusConflict || e.Status != "ABORTED" || !strings.Contains(got.body, "PERMIT_SETTLED") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if used, open := s.used("rpm"), s.state().InFlight; used != 1 || open != 0 {
		t.Errorf("%d requests charged, %d permits open", used, open)
	}
	if n := len(s.sim.Calls()); n != 0 {
		t.Errorf("%d calls went out by the gateway", n)
	}
}

// TestPermitWithoutUsage: a call of which nobody says what it took is charged as one
// through the gateway whose answer does not say, and every answer about it says so.
func TestPermitWithoutUsage(t *testing.T) {
	t.Parallel()
	records := &seen{}
	s := start(t, knobs{transport: func(c *gemini.TransportConfig) { c.Records = records }})
	key := s.chat()
	silent := start(t, knobs{base: silentProvider{}, transport: func(c *gemini.TransportConfig) { c.Records = records }})
	silent.send(http.MethodPost, "/v1beta/models/"+flash+":generateContent", question, "x-goog-api-key", silent.chat())
	want := records.last(t)
	if !want.Assumed || want.Used[limiter.MicroUSD] <= 0 || want.Used[limiter.MicroUSD] >= want.Estimate[limiter.MicroUSD] {
		t.Fatalf("through the gateway: %+v", want)
	}
	for status, assumed := range map[string]bool{"200": true, "0": true, "302": true, "500": false} {
		p := s.permit(key)
		one := permitsPath + "/" + p.ID
		for _, x := range []permitAnswer{
			s.permitOf(s.exchange(true, http.MethodPost, one+"/settle", `{"status":`+status+`}`, "x-goog-api-key", key)),
			s.permitOf(s.exchange(true, http.MethodPost, one+"/settle", `{"status":200}`, "x-goog-api-key", key)),
			s.permitOf(s.exchange(true, http.MethodGet, one, "", "x-goog-api-key", key)),
		} {
			if p.Assumed || x.Assumed != assumed || assumed && x.Charged["micro_usd"] != want.Used[limiter.MicroUSD] || !assumed && x.Charged["micro_usd"] != 0 {
				t.Errorf("status %s: %+v", status, x)
			}
		}
		if r := records.last(t); r.Assumed != assumed || assumed && r.Used != want.Used {
			t.Errorf("status %s: %+v, through the gateway %v", status, r, want.Used)
		}
	}
}

// silentProvider answers without usageMetadata.
type silentProvider struct{}

func (silentProvider) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(`{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`))}, nil
}

// another is a second gateway of the same fleet, with nothing of the first.
func (s *setup) another() *setup {
	s.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr(), MaxRetries: -1})
	s.Cleanup(func() { _ = rdb.Close() })
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: flash})
	s.must(err)
	transport, err := gemini.NewTransport(gemini.TransportConfig{
		Base: s.sim, APIKey: providerKey, Gate: limiter.NewRedis(rdb, s.lane.Scope(), limiter.RedisOptions{Timeout: 30 * time.Second}), Lanes: lanes})
	s.must(err)
	g, err := New(Config{Transport: transport, Keys: NewKeys(rdb, nil), Classes: []string{"interactive", "bulk"}, Lanes: lanes,
		Permits: gemini.NewLender(transport, gemini.NewLoanStore(rdb, s.lane.Scope(), nil))})
	s.must(err)
	server := httptest.NewServer(g)
	s.Cleanup(server.Close)
	other := *s
	other.gate, other.url = g, server.URL
	return &other
}
