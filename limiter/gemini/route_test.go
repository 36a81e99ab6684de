package gemini

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"nightshift/limiter"
)

// counter is a sender that counts what reaches it.
func counter(n *int, next sender) sender {
	return func(r *http.Request) (*http.Response, error) {
		*n++
		return next(r)
	}
}

func TestWhatMayPass(t *testing.T) {
	for path, wantRequests := range map[string]int64{
		"/v1beta/models/gemini-2.5-flash:generateContent":               1,
		"/v1/models/gemini-2.5-flash:generateContent":                   1,
		"/v1alpha/models/Gemini-Flash-Latest:generateContent":           1,
		"/v1beta/models/gemini-embedding-001:embedContent":              1,
		"/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse": 1,
		"/v1beta/models/gemini-2.5-flash:countTokens":                   0,
		"GET /v1beta/models":                                                   0,
		"GET /v1beta/models?pageSize=50":                                       0,
		"GET /v1beta/models/gemini-2.5-flash":                                  0,
		"/v1beta/models/gemini-2.5-flash:generateContent?$alt=json&fields=x":   1,
		"/v1beta/models/gemini-2.5-flash:generateContent?key=somebody-elses-1": 1,
	} {
		gate, hits := &fakeGate{}, 0
		tr := newTestTransport(t, counter(&hits, replies(200, "application/json", good)), gate)
		ctx, _ := callCtx(t.Context())
		req := post(ctx, strings.TrimPrefix(path, "GET "), question)
		if strings.HasPrefix(path, "GET ") {
			req, _ = http.NewRequestWithContext(ctx, http.MethodGet, req.URL.String(), nil)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil || hits != 1 {
			t.Errorf("%s: %v, %d hits", path, err, hits)
			continue
		}
		resp.Body.Close()
		var requests int64
		for _, r := range gate.acquired {
			requests += r.Amounts[limiter.Requests]
		}
		if requests != wantRequests || len(gate.settled) != len(gate.acquired) {
			t.Errorf("%s: permits for %d requests, want %d; %d settled of %d", path, requests, wantRequests, len(gate.settled), len(gate.acquired))
		}
	}
}

// TestWhatMayNotPass has what others let through: encoded dots and slashes,
// methods that were not thought of, other hosts.
func TestWhatMayNotPass(t *testing.T) {
	for _, c := range []struct{ verb, url, want string }{
		{"POST", "/v1beta/models/gemini-2.5-flash:batchGenerateContent", "not one that goes through"},
		{"POST", "/v1beta/models/gemini-2.5-flash:predict", "not one that goes through"},
		{"POST", "/v1beta/models/gemini-2.5-flash:generateContent:countTokens", "not one that goes through"},
		{"POST", "/v1beta/models/gemini-2.5-flash:", "not one that goes through"},
		{"POST", "/v1beta/models/gemini-2.5-flash%3AgenerateContent", "not a plain path"},
		{"POST", "/v1beta/models/gemini%2e2.5:generateContent", "not a plain path"},
		{"POST", "/v1beta/models/%2e%2e/%2e%2e/v1beta/files:generateContent", "not a plain path"},
		{"POST", "/v1beta/models/%252e%252e%252ffiles:generateContent", "not a plain path"},
		{"POST", "/v1beta/models/..:generateContent", "is not a model"},
		{"POST", "/v1beta/models/a..b:generateContent", "is not a model"},
		{"POST", "/v1beta/models/../files:generateContent", "is not a model"},
		{"POST", "/v1beta/models//gemini-2.5-flash:generateContent", "is not a model"},
		{"POST", "/v1beta//models/gemini-2.5-flash:generateContent", "is not a model"},
		{"POST", "/v1beta/models/a;b:generateContent", "is not a model"},
		{"POST", "/v1beta/models/gemini-2.5-flash%23:generateContent", "not a plain path"},
		{"POST", "/v1beta/models/gémini:generateContent", "not a plain path"},
		{"POST", "/v1beta/cachedContents", "is not a model"},
		{"POST", "/v1beta/files", "is not a model"},
		{"POST", "/upload/v1beta/files", "want /v1, /v1beta or /v1alpha"},
		{"POST", "/v1beta/interactions", "is not a model"},
		{"POST", "/v1beta/v1beta/models/gemini-2.5-flash:generateContent", "the version twice"},
		{"POST", "/v2/models/gemini-2.5-flash:generateContent", "want /v1, /v1beta or /v1alpha"},
		{"POST", "/", "want /v1"},
		{"GET", "/v1beta/models/gemini-2.5-flash:generateContent", "wants POST, not GET"},
		{"DELETE", "/v1beta/models/gemini-2.5-flash", "wants GET, not DELETE"},
		{"POST", "https://evil.example/v1beta/models/gemini-2.5-flash:generateContent", "sends to"},
		{"POST", "http://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent", "sends to"},
		{"POST", "https://me:pw@generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent", "sends to"},
	} {
		gate, hits := &fakeGate{}, 0
		tr := newTestTransport(t, counter(&hits, replies(200, "application/json", good)), gate)
		ctx, _ := callCtx(t.Context())
		target := c.url
		if strings.HasPrefix(target, "/") {
			target = DefaultBaseURL + target
		}
		req, err := http.NewRequestWithContext(ctx, c.verb, target, strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.RoundTrip(req)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Status < 400 {
			t.Errorf("%s %s: %v, want %q", c.verb, c.url, err, c.want)
		}
		if hits != 0 || len(gate.acquired) != 0 {
			t.Errorf("%s %s: %d calls, %d permits", c.verb, c.url, hits, len(gate.acquired))
		}
	}
}

func TestOpaqueURLIsRefused(t *testing.T) {
	tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{})
	ctx, _ := callCtx(t.Context())
	req := post(ctx, generate, question)
	req.URL.Opaque = "//evil.example" + generate
	if _, err := tr.RoundTrip(req); err == nil {
		t.Error("an opaque URL passed")
	}
}

func TestPathPrefix(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:8080/gw", "http://127.0.0.1:8080/gw/"} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) { c.BaseURL = base })
		ctx, _ := callCtx(t.Context())
		for path, ok := range map[string]bool{"/gw" + generate: true, generate: false, "/gw%2f.." + generate: false, "/gwx" + generate: false} {
			req := post(ctx, "", question)
			req.URL, _ = url.Parse("http://127.0.0.1:8080" + path)
			if _, err := tr.RoundTrip(req); (err == nil) != ok {
				t.Errorf("base %s, %s: %v", base, path, err)
			}
		}
	}
}

func TestBatchCountsItsTexts(t *testing.T) {
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(200, "application/json", `{"embeddings":[{"values":[1]},{"values":[2]},{"values":[3]}]}`), gate)
	ctx, obs := callCtx(t.Context())
	one := `{"model":"models/gemini-embedding-001","content":{"parts":[{"text":"some words"}]}}`
	body := fmt.Sprintf(`{"requests":[%s,%s,%s]}`, one, one, one)
	if _, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-embedding-001:batchEmbedContents", body)); err != nil {
		t.Fatal(err)
	}
	s := gate.once(t)
	if s.Used[limiter.Requests] != 3 || s.Used[limiter.InputTokens] == 0 || s.Used[limiter.OutputTokens] != 0 {
		t.Errorf("used %v", s.Used)
	}
	if obs.Verdict != nil || !obs.Priced || obs.MicroUSD == 0 {
		t.Errorf("%+v", obs)
	}
}

func TestCallerIsRequired(t *testing.T) {
	gate := &fakeGate{}
	tr := newTestTransport(t, replies(200, "application/json", good), gate)
	for _, c := range []Caller{{}, {Class: "bulk"}, {Feature: "x"}} {
		_, err := tr.RoundTrip(post(WithCaller(t.Context(), c), generate, question))
		if err == nil || !strings.Contains(err.Error(), "class and feature") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if len(gate.acquired) != 0 {
		t.Error("a permit was taken")
	}
}

func TestUnknownModelSaysWhatToAdd(t *testing.T) {
	tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{})
	ctx, obs := callCtx(t.Context())
	_, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-9:generateContent", question))
	var denied *limiter.Denied
	if !errors.As(err, &denied) || denied.Reason != limiter.ReasonUnknownLane || !denied.Permanent {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"gemini-9", "proj", "gemini-2.5-flash", "input_tpm"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	if obs.Denied == nil {
		t.Error("not observed")
	}
}

func TestRequestBodies(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		status int
	}{
		"not JSON":    {body: "hello", status: 400},
		"cut JSON":    {body: `{"contents":[{"parts"`, status: 400},
		"empty":       {body: "", status: 400},
		"two bodies":  {body: question + question, status: 400},
		"too large":   {body: `{"x":"` + strings.Repeat("a", 2000) + `"}`, status: 413},
		"no length":   {body: `{"x":"` + strings.Repeat("a", 2000) + `"}`, status: 413, change: func(r *http.Request) { r.ContentLength = -1 }},
		"compressed":  {body: question, status: 415, change: func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }},
		"nested deep": {body: `{"contents":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}`, status: 400},
	} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) { c.Bounds.Body = 1000 })
		ctx, _ := callCtx(t.Context())
		req := post(ctx, generate, c.body)
		if c.change != nil {
			c.change(req)
		}
		_, err := tr.RoundTrip(req)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Status != c.status || len(gate.acquired) != 0 {
			t.Errorf("%s: %v, want status %d without a permit", name, err, c.status)
		}
	}
}

// TestCallersLane: a model that is not configured here is counted in the lane
// that the caller names, when it is of the same project.
func TestCallersLane(t *testing.T) {
	theirs := limiter.Lane{Provider: "gemini", Project: "proj", Region: "global", Model: "gemini-9-flash"}
	other := theirs
	other.Project = "other"
	for lane, want := range map[limiter.Lane]int{theirs: 1, other: 0, {}: 0} {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		ctx := WithCaller(t.Context(), Caller{Class: "bulk", Feature: "test", Lane: lane})
		resp, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-9-flash:generateContent", question))
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != (want == 1) || len(gate.acquired) != want {
			t.Errorf("lane %q: %v, %d permits asked for, want %d", lane, err, len(gate.acquired), want)
			continue
		}
		if want == 1 && gate.acquired[0].Lane != lane {
			t.Errorf("counted in %s, want %s", gate.acquired[0].Lane, lane)
		}
	}
}

func TestLaneMap(t *testing.T) {
	if _, err := NewLaneMap("p", "", Model{Name: "a", Aliases: []string{"X"}}, Model{Name: "b", Aliases: []string{"models/x"}}); err == nil {
		t.Error("one name for two models")
	}
	for _, bad := range []string{"", "a b", "../x", "a/b", "a:b"} {
		if _, err := NewLaneMap("p", "", Model{Name: bad}); err == nil {
			t.Errorf("model %q", bad)
		}
	}
	if _, err := NewLaneMap("a/b", ""); err == nil {
		t.Error("a project with a slash")
	}
	m, err := NewLaneMap("p", "", Model{Name: "Models/Gemini-X", Aliases: []string{"gemini-x-latest"}}, Model{Name: "tunedModels/mine-1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gemini-x": "gemini-x", "models/GEMINI-X-latest": "gemini-x", " gemini-x ": "gemini-x", "tunedModels/mine-1": "tunedmodels:mine-1",
	} {
		lane, _, err := m.Lookup(name)
		if err != nil || lane.Model != want || lane.Region != "global" {
			t.Errorf("%s: %v %v", name, lane, err)
		}
		if back, err := limiter.ParseLane(lane.String()); err != nil || back != lane {
			t.Errorf("%s does not come back: %v", lane, err)
		}
	}
	if len(m.Lanes()) != 2 {
		t.Errorf("%v", m.Lanes())
	}
}
