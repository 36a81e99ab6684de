package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestPermitRefused: a refusal is the same as that of a call, and is recorded.
func TestPermitRefused(t *testing.T) {
	t.Parallel()
	records := &seen{}
	s := start(t, knobs{limits: limiter.Limits{RPM: 1}, transport: func(c *gemini.TransportConfig) { c.Records = records }})
	key := s.chat()
	s.permit(key)
	got := s.exchange(true, http.MethodPost, permitsPath, `{"model":"`+flash+`","request":`+question+`,"wait_ms":0}`, "x-goog-api-key", key)
	e := s.rpcError(got)
	if got.status != http.StatusTooManyRequests || e.Status != "RESOURCE_EXHAUSTED" || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "RetryInfo") ||
		!strings.Contains(got.body, `"limiter": "rpm"`) || !strings.Contains(got.body, `"reason": "QUOTA"`) || got.header.Get(headerDecision) != "rejected_locally" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if r := records.last(t); !r.Lent || r.Sent || r.Refusal != limiter.ReasonQuota || r.Limit != "rpm" {
		t.Errorf("%+v", r)
	}
}

// TestPermitWaits in place, and comes when another one is given back.
func TestPermitWaits(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{limits: limiter.Limits{RPM: 100, Concurrency: 1}})
	key := s.chat()
	first := s.permit(key)
	second := make(chan answer)
	go func() {
		second <- s.send(http.MethodPost, permitsPath, `{"model":"`+flash+`","request":`+question+`,"wait_ms":60000,"request_id":"second"}`, "x-goog-api-key", key)
	}()
	s.eventually("it waits", func() bool { return len(s.state().InPlace) > 0 })
	s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+first.ID+"/release", "", "x-goog-api-key", key))
	p := s.permitOf(<-second)
	if p.State != "open" || p.WaitedMS < 1 {
		t.Errorf("%+v", p)
	}
	for _, again := range []answer{
		s.exchange(true, http.MethodGet, permitsPath+"/"+p.ID, "", "x-goog-api-key", key),
		s.exchange(true, http.MethodPost, permitsPath, `{"model":"`+flash+`","request":`+question+`,"request_id":"second"}`, "x-goog-api-key", key),
		s.exchange(true, http.MethodPost, permitsPath+"/"+p.ID+"/settle", `{"status":200}`, "x-goog-api-key", key),
	} {
		if x := s.permitOf(again); x.WaitedMS != p.WaitedMS || again.header.Get(headerWaited) != fmt.Sprint(p.WaitedMS) {
			t.Errorf("waited %d ms at first, then %d (%s)", p.WaitedMS, x.WaitedMS, again.header.Get(headerWaited))
		}
	}
}

// TestPermitAskerLeaves: who hangs up while waiting leaves nothing behind.
func TestPermitAskerLeaves(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{limits: limiter.Limits{RPM: 100, Concurrency: 1}})
	key := s.chat()
	first := s.permit(key)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+permitsPath, strings.NewReader(`{"model":"`+flash+`","request":`+question+`,"wait_ms":60000}`))
	s.must(err)
	req.Header.Set("x-goog-api-key", key)
	left := make(chan error)
	go func() { _, err := http.DefaultClient.Do(req); left <- err }()
	s.eventually("it waits", func() bool { return len(s.state().InPlace) > 0 })
	leave()
	if err := <-left; err == nil {
		t.Error("an answer")
	}
	s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+first.ID+"/release", "", "x-goog-api-key", key))
	s.eventually("nothing is left", func() bool { return s.state().InFlight == 0 && len(s.state().InPlace) == 0 })
	s.permit(key)
}

// TestPermitWithoutRedis: nothing is lent then, of any class, and nothing is lost.
func TestPermitWithoutRedis(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{transport: func(c *gemini.TransportConfig) {
		c.Soft = map[string]gemini.SoftAllowance{"interactive": {PerMinute: 100}}
	}})
	for _, key := range []string{s.chat(), s.key("bulk", "night")} {
		p := s.permit(key)
		s.redis.SetError("LOADING Redis is loading the dataset in memory")
		for _, c := range [][2]string{{"", onePermit}, {"", `{"model":"` + flash + `","amounts":{"input_tokens":1},"request_id":"x"}`}, {"/" + p.ID + "/settle", `{"status":200}`}, {"/" + p.ID + "/extend", ""}, {"/" + p.ID + "/release", ""}} {
			got := s.exchange(true, http.MethodPost, permitsPath+c[0], c[1], "x-goog-api-key", key)
			if e := s.rpcError(got); got.status != http.StatusServiceUnavailable || e.Status != "UNAVAILABLE" || got.header.Get("Retry-After") == "" {
				t.Errorf("%s: %d %s", c[0], got.status, got.body)
			}
		}
		s.redis.SetError("")
		if x := s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+p.ID+"/settle", `{"usage":{"input_tokens":7,"output_tokens":1}}`, "x-goog-api-key", key)); x.Charged["input_tokens"] != 7 || x.Repeated {
			t.Errorf("%+v", x)
		}
	}
}

// TestPermitOfARestedModel: a spent quota in the provider's words lets the model
// rest for everybody, and is told back; a bare status does not.
func TestPermitOfARestedModel(t *testing.T) {
	t.Parallel()
	records := &seen{}
	s := start(t, knobs{transport: func(c *gemini.TransportConfig) { c.Records = records }})
	key := s.chat()
	settle := func(body string) permitAnswer {
		t.Helper()
		return s.permitOf(s.exchange(true, http.MethodPost, permitsPath+"/"+s.permit(key).ID+"/settle", body, "x-goog-api-key", key))
	}
	if p := settle(`{"status":429}`); p.Verdict == nil || p.Charged["output_tokens"] != 0 || p.Charged["requests"] != 1 || p.Charged["micro_usd"] != 0 {
		t.Errorf("%+v", p)
	}
	s.permit(key)
	p := settle(`{"status":429,"error":{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}}}`)
	if p.Verdict == nil || p.Verdict.Kind != "wait" || p.Verdict.RetryAfterMS < 30_000 {
		t.Errorf("%+v", p.Verdict)
	}
	if r := records.last(t); !r.Lent || r.Decision != limiter.AdmittedThenProviderRejected || r.Status != 429 || r.Verdict != gemini.Wait || !r.Sent {
		t.Errorf("%+v", r)
	}
	got := s.exchange(true, http.MethodPost, permitsPath, onePermit, "x-goog-api-key", key)
	if got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "COOLDOWN") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestPermitOfAnotherGateway: what one gateway lent, which is gone, another one of
// the fleet knows.
func TestPermitOfAnotherGateway(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	key := s.chat()
	body := `{"model":"` + flash + `","request":` + question + `,"request_id":"order-1"}`
	p := s.permitOf(s.exchange(true, http.MethodPost, permitsPath, body, "x-goog-api-key", key))
	s.gate = nil
	other := s.another()
	if again := other.permitOf(other.exchange(true, http.MethodPost, permitsPath, body, "x-goog-api-key", key)); again.ID != p.ID || !again.Repeated {
		t.Errorf("%+v", again)
	}
	x := other.permitOf(other.exchange(true, http.MethodPost, permitsPath+"/"+p.ID+"/settle", `{"usage":{"input_tokens":9,"output_tokens":1}}`, "x-goog-api-key", key))
	if x.State != "settled" || x.Charged["input_tokens"] != 9 {
		t.Errorf("%+v", x)
	}
	if used := s.used("input_tpm"); used != 9 {
		t.Errorf("%d tokens are charged", used)
	}
}
