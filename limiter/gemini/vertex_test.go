package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter"
)

const vertexPost = "/v1/projects/cloud-1/locations/eu/publishers/google/models/gemini-2.5-flash:generateContent"

// overVertex makes a transport to Vertex AI whose tokens are numbered.
func overVertex(base http.RoundTripper, gate *fakeGate, t *testing.T) *Transport {
	n := 0
	return newTestTransport(t, base, gate, func(c *TransportConfig) {
		c.APIKey = ""
		c.Vertex = &Vertex{Project: "cloud-1", Location: "eu", Token: func(context.Context) (string, error) {
			n++
			return fmt.Sprintf("opaque-token-of-call-%d", n), nil
		}}
	})
}

func vertexRequest(ctx context.Context, t *Transport, path, body string) *http.Request {
	req := post(ctx, path, body)
	req.URL.Host = t.base.Host
	return req
}

func TestVertexBaseURL(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"": "https://aiplatform.googleapis.com", "global": "https://aiplatform.googleapis.com",
		"us-central1": "https://us-central1-aiplatform.googleapis.com", "eu": "https://aiplatform.eu.rep.googleapis.com",
	} {
		if got := (&Vertex{Location: location}).BaseURL(); got != want {
			t.Errorf("%q: %s, want %s", location, got, want)
		}
	}
	if got := (*Vertex)(nil).BaseURL(); got != DefaultBaseURL {
		t.Errorf("without Vertex: %s", got)
	}
}

func TestVertexConfig(t *testing.T) {
	t.Parallel()
	lanes, err := NewLaneMap("p", "", Model{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	token := func(context.Context) (string, error) { return "t", nil }
	for want, v := range map[string]*Vertex{
		"want both Project and Location": {Project: "p"},
		"Vertex.Project: \"a/b\"":        {Project: "a/b", Location: "eu", Token: token},
		"Vertex.Location: \"..\"":        {Project: "p", Location: "..", Token: token},
		"Vertex.Project: must be set":    {Token: token},
		"APIKey: must be set":            {Project: "p", Location: "eu"},
	} {
		if _, err := NewTransport(TransportConfig{Gate: freeGate{}, Lanes: lanes, Vertex: v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", *v, err, want)
		}
	}
	if _, err := NewTransport(TransportConfig{Gate: freeGate{}, Lanes: lanes, Vertex: &Vertex{Project: "example.com:p", Location: "eu", Token: token}}); err != nil {
		t.Error(err)
	}
}

// TestVertexCredentials: each call has the token of now and no other credentials, and
// what fails shows it to nobody.
func TestVertexCredentials(t *testing.T) {
	t.Parallel()
	var sent []http.Header
	gate := &fakeGate{}
	tr := overVertex(sender(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.Header)
		if len(sent) == 3 {
			return nil, errors.New("proxy refused " + r.Header.Get("Authorization"))
		}
		return reply(200, "application/json", good), nil
	}), gate, t)
	for n := 1; n <= 3; n++ {
		ctx, _ := callCtx(t.Context())
		req := vertexRequest(ctx, tr, vertexPost, question)
		req.Header.Set("Authorization", "Bearer theirs")
		req.Header.Set("X-Goog-Api-Key", "theirs")
		req.Header.Set("X-Goog-User-Project", "theirs")
		_, err := tr.RoundTrip(req)
		if (err != nil) != (n == 3) || err != nil && strings.Contains(err.Error(), "opaque-token") {
			t.Errorf("call %d: %v", n, err)
		}
		if got := sent[n-1].Get("Authorization"); got != fmt.Sprintf("Bearer opaque-token-of-call-%d", n) {
			t.Errorf("call %d: %q", n, got)
		}
		if theirs := sent[n-1].Get("X-Goog-Api-Key") + sent[n-1].Get("X-Goog-User-Project"); theirs != "" {
			t.Errorf("call %d: %q is the caller's", n, theirs)
		}
	}
}

// TestVertexRefusedToken: the key that a breaker follows stays the same while tokens
// change, so that a new token alone does not open what was closed.
func TestVertexRefusedToken(t *testing.T) {
	t.Parallel()
	gate := &fakeGate{}
	tr := overVertex(replies(401, "application/json", `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"x"}}`), gate, t)
	for range 2 {
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(vertexRequest(ctx, tr, vertexPost, question)); err != nil {
			t.Fatal(err)
		}
	}
	if len(gate.trips) != 2 || gate.trips[0].Key == "" || gate.trips[0].Key != gate.trips[1].Key || gate.trips[0].Key != keyHash(tr.cfg.Key()) {
		t.Errorf("%+v", gate.trips)
	}
}

// TestVertexClient: NewClient is the SDK's Vertex AI backend over such a transport,
// and a call that goes to another model goes to its Vertex AI path.
func TestVertexClient(t *testing.T) {
	t.Parallel()
	var urls []string
	gate := &fakeGate{refuse: func(n int, r limiter.Request) error {
		if n > 1 {
			return nil
		}
		return &limiter.Denied{Type: "quota_denied", Reason: limiter.ReasonQuota, RetryAfterMS: 1000}
	}}
	n := 0
	tr := newTestTransport(t, sender(func(r *http.Request) (*http.Response, error) {
		urls = append(urls, r.URL.String())
		return reply(200, "application/json", good), nil
	}), gate, func(c *TransportConfig) {
		c.Vertex = &Vertex{Project: "cloud-1", Location: "global"}
		c.Lanes, _ = NewLaneMap("proj", "global", Model{Name: "gemini-2.5-flash"}, Model{Name: "gemini-2.5-flash-lite"})
		c.Degrade = DegradeFunc(func(ctx context.Context, r DegradeRequest) (DegradedAnswer, bool, error) {
			n++
			resp, err := r.Call(ctx, "gemini-2.5-flash-lite", r.Body)
			return DegradedAnswer{Kind: DegradedModel, Model: "gemini-2.5-flash-lite", Response: resp}, err == nil, err
		})
	})
	client, err := NewClient(t.Context(), tr, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, obs := callCtx(t.Context())
	resp, err := client.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("hi"), OneRequest(nil))
	if err != nil || resp.Text() != "hi" || obs.Degraded == nil || n != 1 {
		t.Fatalf("%v, %+v, degraded %v", err, resp, obs.Degraded)
	}
	want := "https://aiplatform.googleapis.com/v1beta1/projects/cloud-1/locations/global/publishers/google/models/gemini-2.5-flash-lite:generateContent"
	if len(urls) != 1 || urls[0] != want {
		t.Errorf("called %q, want %q", urls, want)
	}
}

// TestVertexPredict: each text of a predict call is a request, and its words count.
func TestVertexPredict(t *testing.T) {
	t.Parallel()
	gate := &fakeGate{}
	tr := overVertex(replies(200, "application/json", `{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":3}}},{"embeddings":{"values":[1]}}]}`), gate, t)
	ctx, obs := callCtx(t.Context())
	path := strings.Replace(vertexPost, "gemini-2.5-flash:generateContent", "gemini-embedding-001:predict", 1)
	body := `{"instances":[{"content":"` + strings.Repeat("some words ", 100) + `"},{"content":"b","task_type":"RETRIEVAL_QUERY"}]}`
	if _, err := tr.RoundTrip(vertexRequest(ctx, tr, path, body)); err != nil || obs.Verdict != nil {
		t.Fatal(err, obs.Verdict)
	}
	a := gate.acquired[0].Amounts
	if a[limiter.Requests] != 2 || a[limiter.InputTokens] < 150 || a[limiter.OutputTokens] != 0 {
		t.Errorf("asked for %v", a)
	}
	if s := gate.once(t); s.Used[limiter.InputTokens] != a[limiter.InputTokens] || s.Used[limiter.OutputTokens] != 0 {
		t.Errorf("settled %v", s.Used)
	}
}
