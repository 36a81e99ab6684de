package gemini

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
)

// newTestClient is the real SDK over the transport. Environment variables that
// would lead it astray are set.
func newTestClient(t *testing.T, base http.RoundTripper, gate *fakeGate) *genai.Client {
	t.Helper()
	for name, value := range map[string]string{
		"GOOGLE_API_KEY": "env-key", "GOOGLE_GENAI_USE_VERTEXAI": "true",
		"GOOGLE_GENAI_USE_ENTERPRISE": "true", "GOOGLE_CLOUD_PROJECT": "env-project", "GOOGLE_CLOUD_LOCATION": "env-place",
		"GOOGLE_GEMINI_BASE_URL": "http://env.invalid", "GOOGLE_VERTEX_BASE_URL": "http://env.invalid",
	} {
		t.Setenv(name, value)
	}
	client, err := NewClient(t.Context(), newTestTransport(t, base, gate), "")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestSDK makes each kind of call with the real SDK: as many calls reach the
// other side as permits were given, and each permit is settled.
func TestSDK(t *testing.T) {
	text := genai.Text("hello")
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
		call   func(context.Context, *genai.Client) error
		good   bool
	}{
		"generate": {200, "application/json", good, func(ctx context.Context, c *genai.Client) error {
			r, err := c.Models.GenerateContent(ctx, "gemini-2.5-flash", text, OneRequest(nil))
			if err == nil && r.Text() != "hi" {
				return errors.New("another answer: " + r.Text())
			}
			return err
		}, true},
		"stream": {200, "text/event-stream", fiftyChunks(), func(ctx context.Context, c *genai.Client) error {
			n := 0
			for _, err := range c.Models.GenerateContentStream(ctx, "gemini-2.5-flash", text, OneRequest(nil)) {
				if n++; err != nil {
					return err
				}
			}
			if n != 50 {
				return errors.New("chunks are missing")
			}
			return nil
		}, true},
		"stream with a timeout": {200, "text/event-stream", fiftyChunks(), func(ctx context.Context, c *genai.Client) error {
			limit, n := 5*time.Minute, 0
			config := OneRequest(&genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{Timeout: &limit}})
			for _, err := range c.Models.GenerateContentStream(ctx, "gemini-2.5-flash", text, config) {
				if n++; err != nil {
					return err
				}
			}
			if n != 50 { // the SDK before 1.65 cut such a stream after its first chunk
				return errors.New("chunks are missing")
			}
			return nil
		}, true},
		"embed": {200, "application/json", `{"embeddings":[{"values":[0.5]}]}`, func(ctx context.Context, c *genai.Client) error {
			_, err := c.Models.EmbedContent(ctx, "gemini-embedding-001", text, nil)
			return err
		}, true},
		"count": {200, "application/json", `{"totalTokens":5}`, func(ctx context.Context, c *genai.Client) error {
			_, err := c.Models.CountTokens(ctx, "gemini-2.5-flash", text, nil)
			return err
		}, true},
		"429 as an array": {429, "application/json", string(samples(t)["061-429-paid-tpm-limit0-billing-gate-array.json"].Body), func(ctx context.Context, c *genai.Client) error {
			_, err := c.Models.GenerateContent(ctx, "gemini-2.5-flash", text, OneRequest(nil))
			var api genai.APIError
			if !errors.As(err, &api) || api.Code != 429 {
				return errors.New("the SDK did not see a 429")
			}
			return nil
		}, false},
		"503 with HTML": {503, "text/html", "<html>", func(ctx context.Context, c *genai.Client) error {
			if _, err := c.Models.GenerateContent(ctx, "gemini-2.5-flash", text, OneRequest(nil)); err == nil {
				return errors.New("no error")
			}
			return nil
		}, false},
		"200 with an error": {200, "application/json", `{"error":{"code":503,"status":"UNAVAILABLE"}}`, func(ctx context.Context, c *genai.Client) error {
			_, err := c.Models.GenerateContent(ctx, "gemini-2.5-flash", text, OneRequest(nil))
			return err // the SDK sees none
		}, false},
	} {
		gate, hits := &fakeGate{}, 0
		client := newTestClient(t, counter(&hits, replies(c.status, c.kind, c.body)), gate)
		ctx, obs := callCtx(t.Context())
		if err := c.call(ctx, client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := 1
		if name == "count" {
			want = 0
		}
		if hits != 1 || len(gate.acquired) != want || len(gate.settled) != want {
			t.Errorf("%s: %d calls, %d permits, %d settled", name, hits, len(gate.acquired), len(gate.settled))
		}
		if (obs.Verdict == nil) != c.good {
			t.Errorf("%s: %+v", name, obs.Verdict)
		}
	}
}

// TestSDKSettings: retries asked for by mistake and continuation stay off, or
// take permits of their own.
func TestSDKSettings(t *testing.T) {
	gate, hits := &fakeGate{}, 0
	client := newTestClient(t, counter(&hits, replies(503, "application/json", `{"error":{"code":503}}`)), gate)
	cfg := &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{RetryOptions: &genai.HTTPRetryOptions{}}}
	ctx, _ := callCtx(t.Context())
	if _, err := client.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("x"), OneRequest(cfg)); err == nil {
		t.Error("no error")
	}
	if hits != 1 || len(gate.settled) != 1 {
		t.Errorf("%d calls, %d permits", hits, len(gate.settled))
	}
	if cfg.AutomaticContinuation != nil || cfg.HTTPOptions.RetryOptions == nil {
		t.Error("the caller's settings were changed")
	}
	if one := OneRequest(cfg); one.AutomaticContinuation == nil || *one.AutomaticContinuation {
		t.Error("continuation is on")
	}
}

func TestDeniedThroughTheSDK(t *testing.T) {
	gate := &fakeGate{refuse: refuseFirst(100, busy(1234000000))}
	hits := 0
	client := newTestClient(t, counter(&hits, replies(200, "application/json", good)), gate)
	ctx, _ := callCtx(t.Context())
	_, unary := client.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("x"), OneRequest(nil))
	var stream error
	for _, err := range client.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("x"), OneRequest(nil)) {
		stream = err
	}
	for _, err := range []error{unary, stream} {
		var denied *limiter.Denied
		if !errors.As(err, &denied) || denied.RetryAfterMS != 1234 || denied.Feature != "test" || denied.TraceID == "" {
			t.Errorf("%v: %+v", err, denied)
		}
	}
	if hits != 0 {
		t.Errorf("%d calls", hits)
	}
}

// TestSDKLeavesAStream breaks out of the loop after the first chunk.
func TestSDKLeavesAStream(t *testing.T) {
	gate := &fakeGate{}
	client := newTestClient(t, replies(200, "text/event-stream", fiftyChunks()), gate)
	ctx, obs := callCtx(t.Context())
	for range client.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("x"), OneRequest(nil)) {
		break
	}
	if s := gate.once(t); s.Outcome != limiter.Settled || s.Used[limiter.InputTokens] != 100 {
		t.Errorf("%+v", s)
	}
	if obs.Permit == nil {
		t.Error("not observed")
	}
}

func TestModelNamesThatTheSDKPassesOn(t *testing.T) {
	gate, hits := &fakeGate{}, 0
	client := newTestClient(t, counter(&hits, replies(200, "application/json", good)), gate)
	for _, model := range []string{"%2e%2e/%2e%2e/v1beta/files", "x:batchGenerateContent", "a/../b", "gemini-2.5-flash?key=x", "publishers/google/models/x"} {
		ctx, _ := callCtx(t.Context())
		if _, err := client.Models.GenerateContent(ctx, model, genai.Text("x"), OneRequest(nil)); err == nil {
			t.Errorf("%s passed", model)
		}
	}
	if hits != 0 || len(gate.acquired) != 0 {
		t.Errorf("%d calls, %d permits", hits, len(gate.acquired))
	}
}

func TestNewClientKnowsItsPlace(t *testing.T) {
	tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{})
	if _, err := NewClient(t.Context(), tr, "http://127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "TransportConfig.BaseURL") {
		t.Errorf("%v", err)
	}
	for _, same := range []string{"", DefaultBaseURL, DefaultBaseURL + "/"} {
		if _, err := NewClient(t.Context(), tr, same); err != nil {
			t.Errorf("%q: %v", same, err)
		}
	}
}

func TestTransportConfig(t *testing.T) {
	lanes, _ := NewLaneMap("p", "")
	whole := TransportConfig{Gate: &fakeGate{}, Lanes: lanes, APIKey: testKey}
	for want, change := range map[string]func(*TransportConfig){
		"Gate":    func(c *TransportConfig) { c.Gate = nil },
		"Lanes":   func(c *TransportConfig) { c.Lanes = nil },
		"APIKey":  func(c *TransportConfig) { c.APIKey = "" },
		"BaseURL": func(c *TransportConfig) { c.BaseURL = "ftp://x" },
	} {
		cfg := whole
		change(&cfg)
		if _, err := NewTransport(cfg); err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
