package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// TestSDK: the genai SDK works as it does with Gemini itself, every method.
func TestSDK(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{sim: geminitest.Config{Keys: []string{providerKey}}})
	c, ctx := s.client(s.chat()), t.Context()

	got, err := c.Models.GenerateContent(ctx, flash, genai.Text("say hello"), nil)
	s.must(err)
	if got.Text() == "" || got.UsageMetadata.TotalTokenCount == 0 {
		t.Errorf("unary: %+v", got)
	}
	text, chunks := "", 0
	for part, err := range c.Models.GenerateContentStream(ctx, flash, genai.Text(strings.Repeat("tell me a long story ", 20)), nil) {
		s.must(err)
		text += part.Text()
		chunks++
	}
	if text == "" || chunks < 2 {
		t.Errorf("stream: %d chunks, %q", chunks, text)
	}
	embedded, err := c.Models.EmbedContent(ctx, "gemini-embedding-001", genai.Text("one"), nil)
	s.must(err)
	if len(embedded.Embeddings) != 1 || len(embedded.Embeddings[0].Values) == 0 {
		t.Errorf("embedding: %+v", embedded)
	}
	count, err := c.Models.CountTokens(ctx, flash, genai.Text("count these words"), nil)
	s.must(err)
	if count.TotalTokens == 0 {
		t.Error("no tokens counted")
	}
	list, err := c.Models.List(ctx, nil)
	s.must(err)
	if len(list.Items) == 0 {
		t.Error("no models listed")
	}
	model, err := c.Models.Get(ctx, flash, nil)
	s.must(err)
	if !strings.Contains(model.Name, flash) {
		t.Errorf("model %+v", model)
	}
	if used := s.used("rpm"); used != 2 {
		t.Errorf("%d requests charged to %s, want 2", used, flash)
	}
	if n := s.state().InFlight; n != 0 {
		t.Errorf("%d permits are open", n)
	}
}

// TestSDKSeesRefusal: a refusal of the limiter is the SDK's own APIError, with
// the time to come back in it.
func TestSDKSeesRefusal(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{limits: limiter.Limits{RPM: 1, InputTPM: 1_000_000}})
	c, ctx := s.client(s.chat()), t.Context()
	_, err := c.Models.GenerateContent(ctx, flash, genai.Text("first"), nil)
	s.must(err)
	_, err = c.Models.GenerateContent(ctx, flash, genai.Text("second"), nil)
	var e genai.APIError
	if !errors.As(err, &e) || e.Code != http.StatusTooManyRequests || e.Status != "RESOURCE_EXHAUSTED" {
		t.Fatalf("%v", err)
	}
	if !strings.HasPrefix(e.Message, "nightshift: no permit") || !strings.HasSuffix(e.Message, "not sent to Gemini") {
		t.Errorf("who refused it, and was it sent? %s", e.Message)
	}
	retry, info := detail(e, "RetryInfo"), detail(e, "ErrorInfo")
	d, err := time.ParseDuration(retry["retryDelay"].(string))
	if err != nil || d <= 0 || d > 62*time.Second {
		t.Errorf("retryDelay %v", retry)
	}
	meta, _ := info["metadata"].(map[string]any)
	for field, want := range map[string]string{
		"type": "quota_denied", "limiter": "rpm", "reason": "quota", "class": "interactive", "feature": "chat", "provider": "gemini",
		"project": "proj", "model": flash, "gateway_decision": "rejected_locally", "limit": "1", "used": "1", "shortage": "1",
		"estimates_requests": "1", "fallback_allowed": "false",
	} {
		if meta[field] != want {
			t.Errorf("metadata %s is %v, want %s", field, meta[field], want)
		}
	}
	if info["domain"] != "nightshift" || info["reason"] != "QUOTA" || meta["path_key"] == "" || meta["trace_id"] == "" || meta["retry_after_ms"] == "" {
		t.Errorf("ErrorInfo %v", info)
	}
}

// detail gives the details of a kind.
func detail(e genai.APIError, kind string) map[string]any {
	for _, d := range e.Details {
		if d["@type"] == "type.googleapis.com/google.rpc."+kind {
			return d
		}
	}
	return map[string]any{"retryDelay": ""}
}

// TestProviderErrorsPassThrough: what the provider says arrives as it was said.
func TestProviderErrorsPassThrough(t *testing.T) {
	t.Parallel()
	for _, kind := range []geminitest.FaultKind{geminitest.Fault429RPM, geminitest.Fault429Spend, geminitest.Fault503, geminitest.Fault502, geminitest.Fault403Denied} {
		s := start(t, knobs{sim: geminitest.Config{Seed: 3, Faults: []geminitest.Fault{{Kind: kind}}}})
		there := start(t, knobs{sim: geminitest.Config{Seed: 3, Faults: []geminitest.Fault{{Kind: kind}}}})
		direct, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim"+generate, strings.NewReader(question))
		s.must(err)
		direct.Header.Set("X-Goog-Api-Key", providerKey)
		resp, err := there.sim.RoundTrip(direct)
		s.must(err)
		want := read(t, resp)
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat())
		if got.status != want.status || got.body != want.body || got.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("%s: %d %q, the provider said %d %q", kind, got.status, got.body, want.status, want.body)
		}
		if d := got.header.Get("X-Nightshift-Decision"); d != "admitted_then_provider_rejected" {
			t.Errorf("%s: decision %q", kind, d)
		}
	}
}

// TestBaseURLs: the gateway works under a prefix, with and without a slash at
// the end, for all versions, and says what is wrong with a doubled one.
func TestBaseURLs(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{config: func(c *Config) { c.PathPrefix = "/gw" }})
	key := s.chat()
	for _, version := range []string{"v1", "v1beta", "v1alpha"} {
		for _, base := range []string{"/gw", "/gw/"} {
			c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
				APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.url + base, APIVersion: version},
			})
			s.must(err)
			if _, err := c.Models.GenerateContent(t.Context(), flash, genai.Text("hi"), nil); err != nil {
				t.Errorf("%s, %s: %v", base, version, err)
			}
		}
	}
	if got := s.send(http.MethodPost, "/gw/"+generate, question, "x-goog-api-key", key); got.status != http.StatusOK {
		t.Errorf("two slashes: %d %s", got.status, got.body)
	}
	s.sim.Reset()
	calls := len(s.sim.Calls())
	for path, text := range map[string]string{
		"/gw/v1beta" + generate:   "twice",
		generate:                  "/gw/",
		"/gw/v2/models/x:y":       "not Gemini's",
		"/gw":                     "/gw/",
		"/gwv1beta/models":        "/gw/",
		"/gw/v1beta/files":        "generateContent",
		"/gw/v1beta/openai/chat/": "generateContent",
	} {
		got := s.send(http.MethodPost, path, question, "x-goog-api-key", key)
		if e := s.rpcError(got); got.status != http.StatusNotFound || !strings.Contains(e.Message, text) {
			t.Errorf("%s: %d %s", path, got.status, e.Message)
		}
	}
	if n := len(s.sim.Calls()); n != calls {
		t.Errorf("%d calls came of wrong paths", n-calls)
	}
}

func read(t *testing.T, resp *http.Response) answer {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}
