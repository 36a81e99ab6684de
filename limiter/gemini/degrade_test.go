package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
)

const (
	lite       = "gemini-2.5-flash-lite"
	streaming  = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
	liteAnswer = `{"candidates":[{"content":{"parts":[{"text":"from lite"}]},"finishReason":"STOP"}],"modelVersion":"lite"}`
)

// answersInMemory is a cache in a map.
type answersInMemory struct {
	mu   sync.Mutex
	kept map[string][]byte // guarded by mu
	err  error             // guarded by mu
	gets int               // guarded by mu
}

func (m *answersInMemory) Get(_ context.Context, name string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	b, ok := m.kept[name]
	return b, ok && m.err == nil, m.err
}

func (m *answersInMemory) Put(_ context.Context, name string, answer []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	m.kept[name] = bytes.Clone(answer)
	return m.err
}

func (m *answersInMemory) all() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.kept)
}

// recorded keeps records.
type recorded struct {
	mu   sync.Mutex
	list []Record // guarded by mu
}

func (r *recorded) Put(x Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

func (r *recorded) all() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Record{}, r.list...)
}

func degradeLanes(t *testing.T) *LaneMap {
	t.Helper()
	lanes, err := NewLaneMap("proj", "", Model{Name: "gemini-2.5-flash", Aliases: []string{"gemini-flash-latest"}},
		Model{Name: lite}, Model{Name: "gemini-embedding-001", Context: 2048})
	if err != nil {
		t.Fatal(err)
	}
	return lanes
}

// degradeRig is a transport with fallbacks.
type degradeRig struct {
	*testing.T
	tr      *Transport
	gate    *fakeGate
	cache   *answersInMemory
	records *recorded
	log     *bytes.Buffer
	now     time.Time // the transport's, in log lines and records
}

func newDegradeRig(t *testing.T, base http.RoundTripper, rules ...FallbackRule) *degradeRig {
	t.Helper()
	r := &degradeRig{T: t, gate: &fakeGate{}, cache: &answersInMemory{}, records: &recorded{}, log: &bytes.Buffer{}, now: time.Unix(1_790_000_000, 0)}
	lanes := degradeLanes(t)
	f, err := NewFallbacks(FallbacksConfig{
		Rules: rules, Lanes: lanes, Cache: r.cache,
		Models: []ModelPair{{From: "gemini-flash-latest", To: lite, Residency: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.tr = newTestTransport(t, base, r.gate, func(c *TransportConfig) {
		c.Lanes, c.Degrade, c.Records = lanes, f, r.records
		c.Logger, c.Now = slog.New(slog.NewTextHandler(r.log, nil)), func() time.Time { return r.now }
	})
	return r
}

// ask makes a call for chat of a tenant.
func (r *degradeRig) ask(path, body string) (*http.Response, *Observation, error) {
	r.Helper()
	return r.askAs(Caller{Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme"}}, path, body)
}

func (r *degradeRig) askAs(c Caller, path, body string) (*http.Response, *Observation, error) {
	r.Helper()
	ctx, obs := Observe(WithCaller(r.Context(), c))
	resp, err := r.tr.RoundTrip(post(ctx, path, body))
	return resp, obs, err
}

// got reads an answer to its end.
func (r *degradeRig) got(resp *http.Response, err error) string {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
	return string(b)
}

// refuse lets the gate refuse everything of one model.
func (r *degradeRig) refuse(model string, d limiter.Denied) {
	r.gate.mu.Lock()
	defer r.gate.mu.Unlock()
	r.gate.refuse = func(_ int, q limiter.Request) error {
		if q.Lane.Model == model {
			d := d
			return &d
		}
		return nil
	}
}

func textOf(t *testing.T, body string) string {
	t.Helper()
	var resp genai.GenerateContentResponse
	if err := json.Unmarshal([]byte(body), &resp); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if resp.UsageMetadata != nil && resp.UsageMetadata.TotalTokenCount != 0 {
		t.Errorf("an answer that took nothing says that it did: %s", body)
	}
	return resp.Text()
}

var noMoney = limiter.Denied{Reason: limiter.ReasonSpend, Limiter: "usd_per_month", Node: "lane", RetryAfterMS: 60_000, Decision: limiter.RejectedLocally}

func canned(kinds ...DegradeKind) FallbackRule {
	return FallbackRule{Class: "interactive", Try: kinds, Canned: []byte("We are busy."), Light: func(_ context.Context, r DegradeRequest) (string, error) {
		return "light for " + string(r.Cause), nil
	}}
}

// TestEveryRefusalHasItsCause: each reason of the limiter degrades by its own
// cause, unless it is the caller's own fault, and nothing is sent or kept.
func TestEveryRefusalHasItsCause(t *testing.T) {
	for reason, want := range map[limiter.Reason]DegradeCause{
		limiter.ReasonQuota: CauseQuota, limiter.ReasonSmoothing: CauseQuota, limiter.ReasonTurn: CauseQuota,
		limiter.ReasonShare: CauseShare, limiter.ReasonPaused: CausePaused, limiter.ReasonCooldown: CauseCooldown,
		limiter.ReasonBreaker: CauseBreaker, limiter.ReasonCredentials: CauseCredentials, limiter.ReasonSpend: CauseSpend,
		limiter.ReasonDeadline: CauseDeadline, limiter.ReasonUnavailable: CauseUnavailable,
		limiter.ReasonTooLarge: "", limiter.ReasonUnknownLane: "", limiter.ReasonSlots: "",
	} {
		hits := 0
		r := newDegradeRig(t, counter(&hits, replies(200, "application/json", good)), canned(DegradedCached, DegradedCanned))
		r.refuse("gemini-2.5-flash", limiter.Denied{Reason: reason, RetryAfterMS: 1000, Decision: limiter.RejectedLocally})
		resp, obs, err := r.ask(generate, question)
		if want == "" {
			var d *limiter.Denied
			if !errors.As(err, &d) || d.Reason != reason || obs.Degraded != nil {
				t.Errorf("%s: %v, %+v", reason, err, obs.Degraded)
			}
			continue
		}
		if text := textOf(t, r.got(resp, err)); text != "We are busy." {
			t.Errorf("%s: %q", reason, text)
		}
		if h := resp.Header.Get(HeaderDegraded); h != "canned; reason="+string(want) || obs.Degraded.Reason != want || obs.Decision != limiter.Degraded {
			t.Errorf("%s: header %q, %+v", reason, h, obs)
		}
		if obs.Degraded.Denied == nil || obs.Degraded.Denied.Reason != reason || hits != 0 || len(r.cache.all()) != 0 {
			t.Errorf("%s: %+v, %d calls, %d answers kept", reason, obs.Degraded, hits, len(r.cache.all()))
		}
		if list := r.records.all(); len(list) != 1 || list[0].Refusal != reason || list[0].Decision != limiter.Degraded || list[0].Degraded.Kind != DegradedCanned || list[0].Sent {
			t.Errorf("%s: records %+v", reason, list)
		}
	}
}

// TestProvidersRefusalIsAnsweredOtherwise: what the provider refuses is settled
// as sent, and the caller gets another answer; what the request itself brought
// about is passed on.
func TestProvidersRefusalIsAnsweredOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		base sender
		want DegradeCause
	}{
		"429":             {replies(429, "application/json", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}`), CauseProviderQuota},
		"503":             {replies(503, "application/json", `{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}`), CauseProviderFailed},
		"no money":        {replies(402, "application/json", `{"error":{"code":402,"status":"RESOURCE_EXHAUSTED","message":"prepayment credits are depleted"}}`), CauseSpend},
		"bad key":         {replies(400, "application/json", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`), CauseCredentials},
		"no connection":   {func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, CauseProviderFailed},
		"an empty 200":    {replies(200, "application/json", ``), CauseProviderFailed},
		"a bad request":   {replies(400, "application/json", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad field"}}`), ""},
		"a blocked one":   {replies(200, "application/json", `{"promptFeedback":{"blockReason":"SAFETY"}}`), ""},
		"a truncated one": {replies(200, "application/json", strings.Replace(good, "STOP", "MAX_TOKENS", 1)), ""},
	} {
		for _, path := range []string{generate, streaming + "?alt=sse"} {
			r := newDegradeRig(t, c.base, canned(DegradedLight))
			resp, obs, err := r.ask(path, question)
			if strings.HasPrefix(path, streaming) && name == "an empty 200" {
				continue // a stream that has begun is the caller's
			}
			if c.want == "" {
				if r.got(resp, err); obs.Degraded != nil {
					t.Errorf("%s: %+v", name, obs.Degraded)
				}
				continue
			}
			body := r.got(resp, err)
			if !strings.Contains(body, "light for "+string(c.want)) || obs.Degraded == nil || obs.Degraded.Reason != c.want {
				t.Errorf("%s %s: %q, %+v", name, path, body, obs.Degraded)
			}
			if s := r.gate.once(t); s.Outcome != limiter.Settled {
				t.Errorf("%s: %+v", name, s)
			}
			if list := r.records.all(); len(list) != 1 || !list[0].Sent || list[0].Verdict == "" || list[0].Degraded == nil {
				t.Errorf("%s: %+v", name, list)
			}
		}
	}
}

// TestOrder: each step that has nothing leaves it to the next.
func TestOrder(t *testing.T) {
	r := newDegradeRig(t, replies(200, "application/json", good), canned(DegradedCached, DegradedModel, DegradedLight, DegradedCanned))
	r.refuse("gemini-2.5-flash", noMoney)
	body := strings.Replace(question, `"hello"`, `"fresh"`, 1)
	resp, obs, err := r.ask(generate, body)
	if r.got(resp, err); obs.Degraded.Kind != DegradedModel || obs.Degraded.Model != lite {
		t.Errorf("nothing kept: %+v", obs.Degraded)
	}
	if obs.Lane.Model != lite || !obs.HasUsage || obs.Permit == nil {
		t.Errorf("the observation is not about the call that answered: %+v", obs)
	}
	list := r.records.all()
	if len(list) != 2 || list[0].Lane == list[1].Lane || list[0].Instead != "gemini-2.5-flash" || list[0].Degraded != nil || list[1].Refusal != limiter.ReasonSpend || list[1].Degraded == nil {
		t.Errorf("records %+v", list)
	}
	if n := len(r.cache.all()); n != 0 {
		t.Errorf("%d answers of the lighter model are kept as the model's own", n)
	}
	both := func(_ int, q limiter.Request) error { d := noMoney; return &d }
	r.gate.refuse = both
	resp, obs, err = r.ask(generate, body)
	if text := textOf(t, r.got(resp, err)); text != "light for spend" || obs.Degraded.Kind != DegradedLight || obs.Denied == nil || obs.Lane.Model != "gemini-2.5-flash" {
		t.Errorf("both refused: %q %+v", text, obs)
	}
	if resp.Header.Get(HeaderDegraded) != "light; reason=spend" {
		t.Errorf("%v", resp.Header)
	}
}

// TestNeverLoops: two models that stand in for each other are each asked once.
func TestNeverLoops(t *testing.T) {
	lanes, gate := degradeLanes(t), &fakeGate{}
	f, err := NewFallbacks(FallbacksConfig{
		Rules: []FallbackRule{{Try: []DegradeKind{DegradedModel}}}, Lanes: lanes,
		Models: []ModelPair{{From: "gemini-2.5-flash", To: lite, Residency: true}, {From: lite, To: "gemini-2.5-flash", Residency: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	gate.refuse = func(int, limiter.Request) error { d := noMoney; return &d }
	tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) { c.Lanes, c.Degrade = lanes, f })
	ctx, obs := Observe(WithCaller(t.Context(), Caller{Class: "interactive", Feature: "chat"}))
	_, err = tr.RoundTrip(post(ctx, generate, question))
	var d *limiter.Denied
	if !errors.As(err, &d) || d.Reason != limiter.ReasonSpend || obs.Denied != d || len(gate.acquired) != 2 {
		t.Errorf("%v after %d requests for a permit", err, len(gate.acquired))
	}
}

// TestSoftSpend: a permit past a money limit's soft part goes back unused when
// there is another answer, and is used when there is none.
func TestSoftSpend(t *testing.T) {
	for feature, degrades := range map[string]bool{"chat": true, "checkout": false} {
		hits := 0
		rule := canned(DegradedCanned)
		rule.Feature, rule.Causes = "chat", []DegradeCause{CauseSoftSpend}
		r := newDegradeRig(t, counter(&hits, replies(200, "application/json", good)), rule)
		r.tr.cfg.Gate = softSpending{r.gate}
		resp, obs, err := r.askAs(Caller{Class: "interactive", Feature: feature}, generate, question)
		r.got(resp, err)
		s := r.gate.once(t)
		rec := r.records.all()
		if degrades && (s.Outcome != limiter.Released || hits != 0 || obs.Degraded.Reason != CauseSoftSpend || len(rec) != 1 || rec[0].Sent || rec[0].Limit != "tenant/acme usd_per_month") {
			t.Errorf("%s: %+v, %d hits, %+v, %+v", feature, s, hits, obs.Degraded, rec)
		}
		if !degrades && (s.Outcome != limiter.Settled || hits != 1 || obs.Degraded != nil || len(rec) != 1 || !rec[0].Sent) {
			t.Errorf("%s: %+v, %d hits, %+v, %+v", feature, s, hits, obs.Degraded, rec)
		}
	}
}

// softSpending gives permits that are past a money limit's soft part.
type softSpending struct{ *fakeGate }

func (g softSpending) Acquire(ctx context.Context, r limiter.Request) (*limiter.Permit, error) {
	p, err := g.fakeGate.Acquire(ctx, r)
	if err == nil {
		p.Soft = "tenant/acme usd_per_month"
	}
	return p, err
}

// TestWhoGetsNoOtherAnswer: embeddings, calls that are only observed, callers
// that hung up, features without a rule, and those whose request no text fits.
func TestWhoGetsNoOtherAnswer(t *testing.T) {
	rule := canned(DegradedCanned)
	rule.Feature = "chat"
	r := newDegradeRig(t, replies(200, "application/json", good), rule)
	r.refuse("gemini-2.5-flash", noMoney)
	chat := Caller{Class: "interactive", Feature: "chat"}
	for name, c := range map[string]struct {
		caller Caller
		body   string
	}{
		"another feature":   {Caller{Class: "interactive", Feature: "search"}, question},
		"another class":     {Caller{Class: "bulk", Feature: "chat"}, question},
		"JSON is wanted":    {chat, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json"}}`},
		"a schema":          {chat, `{"contents":[{"parts":[{"text":"x"}]}],"generation_config":{"response_schema":{"type":"OBJECT"}}}`},
		"a picture":         {chat, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseModalities":["IMAGE"]}}`},
		"a function's call": {chat, `{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`},
	} {
		if _, obs, err := r.askAs(c.caller, generate, c.body); err == nil || obs.Degraded != nil {
			t.Errorf("%s: got another answer", name)
		}
	}
	r.gate.refuse = func(int, limiter.Request) error { d := noMoney; return &d }
	if _, obs, err := r.ask("/v1beta/models/gemini-embedding-001:embedContent", `{"content":{"parts":[{"text":"x"}]}}`); err == nil || obs.Degraded != nil {
		t.Error("an embedding is made up")
	}
	ctx, cancel := context.WithCancel(WithCaller(t.Context(), chat))
	cancel()
	if _, err := r.tr.RoundTrip(post(ctx, generate, question)); err == nil {
		t.Error("a caller that hung up gets an answer")
	}
}

// TestOwnFuncMayFail: a service's own path that fails, or panics, leaves the
// refusal as it was.
func TestOwnFuncMayFail(t *testing.T) {
	for name, f := range map[string]LightFunc{
		"an error": func(context.Context, DegradeRequest) (string, error) { return "half", errors.New("no idea") },
		"a panic":  func(context.Context, DegradeRequest) (string, error) { panic("oops") },
		"nothing":  func(context.Context, DegradeRequest) (string, error) { return "", nil },
	} {
		r := newDegradeRig(t, replies(200, "application/json", good), FallbackRule{Try: []DegradeKind{DegradedLight}, Light: f})
		r.refuse("gemini-2.5-flash", noMoney)
		_, obs, err := r.ask(generate, question)
		var d *limiter.Denied
		if !errors.As(err, &d) || obs.Denied != d || obs.Degraded != nil || obs.Decision != limiter.RejectedLocally {
			t.Errorf("%s: %v, %+v", name, err, obs)
		}
		if list := r.records.all(); len(list) != 1 || list[0].Degraded != nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

// TestOneLineAMinute: whatever comes, each reason has one line a minute, which
// says how many and of what; all of them are counted.
func TestOneLineAMinute(t *testing.T) {
	r := newDegradeRig(t, replies(200, "application/json", good), canned(DegradedCanned))
	r.refuse("gemini-2.5-flash", noMoney)
	const minutes, perMinute = 30, 60
	for range minutes * perMinute {
		resp, _, err := r.ask(generate, question)
		r.got(resp, err)
		r.now = r.now.Add(time.Minute / perMinute)
	}
	lines := strings.Split(strings.TrimSpace(r.log.String()), "\n")
	if len(lines) != minutes {
		t.Errorf("%d lines in %d minutes: %s", len(lines), minutes, r.log)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "reason=spend") || !strings.Contains(last, "calls=60") || !strings.Contains(last, `"60 of chat by canned"`) {
		t.Errorf("the line says %s", last)
	}
	var s UsageSample
	for _, rec := range r.records.all() {
		s.count(rec)
	}
	if by := s.DegradedByCause(); s.Calls != minutes*perMinute || s.Refused != s.Calls || s.Good != 0 || s.Sent != 0 || len(by) != 1 || by[CauseSpend] != s.Calls {
		t.Errorf("counted %+v, %v", s, by)
	}
}

// TestCacheAwayIsNotWaitedFor: while the cache does not answer, other answers
// come at once, and it is tried again three seconds later.
func TestCacheAwayIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDegradeRig(t, replies(200, "application/json", good), canned(DegradedCached, DegradedCanned))
		r.refuse("gemini-2.5-flash", noMoney)
		r.cache.err = errors.New("away")
		for range 10 {
			resp, obs, err := r.ask(generate, question)
			if r.got(resp, err); obs.Degraded.Kind != DegradedCanned {
				t.Fatalf("%+v", obs.Degraded)
			}
		}
		if r.cache.gets != 1 {
			t.Errorf("asked %d times", r.cache.gets)
		}
		pass(4 * time.Second)
		resp, _, err := r.ask(generate, question)
		if r.got(resp, err); r.cache.gets != 2 {
			t.Errorf("asked %d times after it may be back", r.cache.gets)
		}
	})
}
