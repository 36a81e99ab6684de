package gemini

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/genai"
)

// placeholderKey is what the SDK is given; the transport puts the real key in
// its place, so that the SDK cannot write the real one down.
const placeholderKey = "set-by-the-transport"

// NewClient gives the genai SDK over the transport, for baseURL or, when that
// is empty, for the transport's own; any other than that is an error. Backend,
// key and base URL are stated, so that no environment variable
// (GOOGLE_API_KEY, GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GEMINI_BASE_URL, …) has a
// say. Retries are off: each would be a call of its own. The client's
// Interactions must not be used: that package retries by itself.
func NewClient(ctx context.Context, t *Transport, baseURL string) (*genai.Client, error) {
	if baseURL != "" {
		u, err := baseOf(baseURL)
		if err != nil {
			return nil, err
		}
		if u.String() != t.base.String() {
			return nil, fmt.Errorf("base URL %s: the transport sends to %s only; set TransportConfig.BaseURL", u, t.base)
		}
	}
	cfg := &genai.ClientConfig{
		APIKey:      placeholderKey,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: rawKeeper{t}, CheckRedirect: noRedirect},
		HTTPOptions: genai.HTTPOptions{BaseURL: t.base.String() + "/", APIVersion: "v1beta"},
	}
	if v := t.cfg.Vertex; v != nil {
		cfg.Backend, cfg.Project, cfg.Location, cfg.HTTPOptions.APIVersion = genai.BackendVertexAI, v.Project, v.Location, "v1beta1"
	}
	return genai.NewClient(ctx, cfg)
}

// noRedirect hands a redirect over as the answer: the API has none, and
// following one would be a second call.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// OneRequest gives a copy of a generation's settings under which one call of
// the SDK is one HTTP request: automatic continuation, which is on by default,
// is off. Nil gives settings with nothing else in them.
func OneRequest(cfg *genai.GenerateContentConfig) *genai.GenerateContentConfig {
	one := genai.GenerateContentConfig{}
	if cfg != nil {
		one = *cfg
	}
	off := false
	one.AutomaticContinuation = &off
	one.HTTPOptions = withoutRetries(one.HTTPOptions)
	return &one
}

func withoutRetries(o *genai.HTTPOptions) *genai.HTTPOptions {
	if o == nil || o.RetryOptions == nil {
		return o
	}
	plain := *o
	plain.RetryOptions = nil
	return &plain
}
