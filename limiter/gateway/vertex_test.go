package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

const (
	accessToken    = "ya29.test-access-token-of-the-service-account"
	vertexModels   = "/v1beta1/projects/cloud-1/locations/us-central1/publishers/google/models/"
	vertexGenerate = vertexModels + flash + ":generateContent"
)

// seenUpstream keeps what the API was asked.
type seenUpstream struct {
	http.RoundTripper
	mu   sync.Mutex
	urls []string // guarded by mu; so are the next two
	auth []string
	keys []string
}

func (u *seenUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	u.urls, u.auth, u.keys = append(u.urls, r.URL.String()), append(u.auth, r.Header.Get("Authorization")), append(u.keys, r.Header.Get("X-Goog-Api-Key"))
	u.mu.Unlock()
	return u.RoundTripper.RoundTrip(r)
}

// last is the call that came last; empty before the first.
func (u *seenUpstream) last() (url, auth, key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := len(u.urls) - 1
	if n < 0 {
		return "", "", ""
	}
	return u.urls[n], u.auth[n], u.keys[n]
}

// startVertex is a gateway over the simulated Vertex AI.
func startVertex(t *testing.T, v *gemini.Vertex, k knobs) (*setup, *seenUpstream) {
	t.Helper()
	up := &seenUpstream{RoundTripper: geminitest.MustNew(geminitest.Config{Keys: []string{accessToken, providerKey}})}
	k.base, k.models = up, append(k.models, gemini.Model{Name: "gemini-embedding-2"})
	k.transport = func(c *gemini.TransportConfig) {
		if c.Vertex = v; v.Token != nil {
			c.APIKey = ""
		}
	}
	k.config = func(c *Config) { c.Vertex = v }
	return start(t, k), up
}

func byToken() *gemini.Vertex {
	return &gemini.Vertex{Project: "cloud-1", Location: "us-central1", Token: func(context.Context) (string, error) { return accessToken, nil }}
}

// vertexClient is the genai SDK with its Vertex AI backend, which sends our key as
// its API key.
func (s *setup) vertexClient(project, location string) *genai.Client {
	s.Helper()
	c, err := genai.NewClient(s.Context(), &genai.ClientConfig{
		APIKey: s.chat(), Backend: genai.BackendVertexAI, Project: project, Location: location, HTTPOptions: genai.HTTPOptions{BaseURL: s.url},
	})
	s.must(err)
	return c
}

// TestVertexSDK: the SDK's Vertex AI backend works through the gateway, with and
// without project and location in its paths; only our access token goes on.
func TestVertexSDK(t *testing.T) {
	t.Parallel()
	for name, at := range map[string][2]string{"project": {"cloud-1", "us-central1"}, "express": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, up := startVertex(t, byToken(), knobs{})
			c, ctx := s.vertexClient(at[0], at[1]), t.Context()
			got, err := c.Models.GenerateContent(ctx, flash, genai.Text("say hello"), nil)
			s.must(err)
			if got.Text() == "" || got.UsageMetadata.TotalTokenCount == 0 {
				t.Errorf("unary: %+v", got)
			}
			wantCall(t, up, "https://us-central1-aiplatform.googleapis.com"+vertexGenerate, "Bearer "+accessToken, "")
			chunks := 0
			for _, err := range c.Models.GenerateContentStream(ctx, flash, genai.Text(strings.Repeat("tell me a long story ", 20)), nil) {
				s.must(err)
				chunks++
			}
			if chunks < 2 {
				t.Errorf("stream: %d chunks", chunks)
			}
			for _, model := range []string{"gemini-embedding-001", "gemini-embedding-2"} { // predict, embedContent
				embedded, err := c.Models.EmbedContent(ctx, model, genai.Text("one"), nil)
				s.must(err)
				if len(embedded.Embeddings) != 1 || len(embedded.Embeddings[0].Values) == 0 {
					t.Errorf("%s: %+v", model, embedded)
				}
			}
			count, err := c.Models.CountTokens(ctx, flash, genai.Text("count these words"), nil)
			s.must(err)
			if count.TotalTokens == 0 || s.used("rpm") != 2 || s.state().InFlight != 0 {
				t.Errorf("%d tokens counted, %d requests charged, %d in flight", count.TotalTokens, s.used("rpm"), s.state().InFlight)
			}
		})
	}
}

func wantCall(t *testing.T, up *seenUpstream, url, auth, key string) {
	t.Helper()
	if u, a, k := up.last(); u != url || a != auth || k != key {
		t.Errorf("the API was asked %s with %q and %q, want %s with %q and %q", u, a, k, url, auth, key)
	}
}

// TestVertexExpress: without a project the API key is sent, and paths have none.
func TestVertexExpress(t *testing.T) {
	t.Parallel()
	s, up := startVertex(t, &gemini.Vertex{}, knobs{})
	s.refused(s.send(http.MethodPost, vertexGenerate, question, "x-goog-api-key", s.chat()), http.StatusForbidden, "express mode")
	_, err := s.vertexClient("", "").Models.GenerateContent(t.Context(), flash, genai.Text("hi"), nil)
	s.must(err)
	wantCall(t, up, "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/"+flash+":generateContent", "", providerKey)
}

// TestVertexBadPaths: only the configured project and location, Google's models and
// the methods of the list pass; no permit is taken and nothing is sent.
func TestVertexBadPaths(t *testing.T) {
	t.Parallel()
	s, up := startVertex(t, byToken(), knobs{})
	key := s.chat()
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		strings.Replace(vertexGenerate, "cloud-1", "cloud-2", 1):            {http.StatusForbidden, `project "cloud-2" is not called here, only "cloud-1"`},
		strings.Replace(vertexGenerate, "us-central1", "europe-west1", 1):   {http.StatusForbidden, `location "europe-west1" is not called here, only "us-central1"`},
		strings.Replace(vertexGenerate, "cloud-1/", "cloud-1%2F", 1):        {http.StatusBadRequest, "escaped"},
		strings.Replace(vertexGenerate, "cloud-1", "cloud-2/../cloud-1", 1): {http.StatusNotFound, "none of a model"},
		strings.Replace(vertexGenerate, "cloud-1", "%2e%2e", 1):             {http.StatusBadRequest, "escaped"},
		strings.Replace(vertexGenerate, "google", "anthropic", 1):           {http.StatusNotFound, "no model of Google's"},
		strings.Replace(vertexGenerate, "publishers/google/", "", 1):        {http.StatusNotFound, "no model of Google's"},
		strings.Replace(vertexGenerate, "locations", "regions", 1):          {http.StatusNotFound, "none of a model"},
		vertexModels + flash + ":predict":                                   {http.StatusNotFound, `method "predict" of ` + flash},
		vertexModels + flash + ":rawPredict":                                {http.StatusNotFound, "rawPredict"},
		vertexModels + "a/b:generateContent":                                {http.StatusBadRequest, "is not a model"},
		"/v1beta1/v1beta1" + strings.TrimPrefix(vertexGenerate, "/v1beta1"): {http.StatusNotFound, "the version twice"},
		"/v1beta1/projects/cloud-1/locations/us-central1/cachedContents":    {http.StatusNotFound, "no model of Google's"},
		generate: {http.StatusNotFound, "path of the Gemini API, and Vertex AI is called here"},
		"/v1/models/" + flash + ":generateContent": {http.StatusNotFound, "path of the Gemini API, and Vertex AI is called here"},
	} {
		got := s.send(http.MethodPost, path, question, "x-goog-api-key", key)
		s.refused(got, want.status, want.text)
	}
	if url, _, _ := up.last(); url != "" || s.used("rpm") != 0 {
		t.Errorf("%q was called, %d requests are charged", url, s.used("rpm"))
	}
}

// TestGeminiRefusesVertexPaths: the other way round.
func TestGeminiRefusesVertexPaths(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	for _, path := range []string{vertexGenerate, strings.Replace(vertexGenerate, "v1beta1", "v1", 1), "/v1beta1/publishers/google/models/" + flash + ":generateContent"} {
		s.refused(s.send(http.MethodPost, path, question, "x-goog-api-key", s.chat()), http.StatusNotFound, "Vertex AI, and the Gemini API is called here")
	}
}

// TestVertexWithoutToken: a call for which there is no access token is refused before
// it has a permit, and the reason is told to the operator without the token's answer.
func TestVertexWithoutToken(t *testing.T) {
	t.Parallel()
	v := byToken()
	v.Token = func(context.Context) (string, error) {
		return "", errors.New("oauth2: invalid_grant for " + providerKey)
	}
	s, up := startVertex(t, v, knobs{limits: limiter.Limits{RPM: 5}})
	got := s.send(http.MethodPost, vertexGenerate, question, "x-goog-api-key", s.chat())
	s.refused(got, http.StatusServiceUnavailable, "no access token for Vertex AI")
	if url, _, _ := up.last(); url != "" || s.used("rpm") != 0 {
		t.Errorf("%q was called, %d requests are charged", url, s.used("rpm"))
	}
	if text := s.log.String(); strings.Contains(text, providerKey) || !strings.Contains(text, "invalid_grant") {
		t.Errorf("the log says %q", text)
	}
}
