package geminitest_test

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter/gemini/geminitest"
)

const model = "gemini-3.8-flash"

// ways are the two ways to reach a server.
func ways(t *testing.T, s *geminitest.Server) map[string]*genai.Client {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return map[string]*genai.Client{
		"handler":   sdk(t, web.URL, nil),
		"transport": sdk(t, "http://gemini.invalid", s),
	}
}

func sdk(t *testing.T, url string, rt http.RoundTripper) *genai.Client {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "good", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: rt},
		HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSDKUnary(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Keys: []string{"good"}})
	for name, c := range ways(t, s) {
		t.Run(name, func(t *testing.T) {
			resp, err := c.Models.GenerateContent(t.Context(), model, genai.Text("id: row-17\nDescribe the walnut desk in Japanese."), nil)
			if err != nil {
				t.Fatal(err)
			}
			if text := resp.Text(); !strings.Contains(text, "row-17") || !strings.Contains(text, "walnut") {
				t.Errorf("text = %q, want the id and a word of the prompt", text)
			}
			u := resp.UsageMetadata
			if u.PromptTokenCount == 0 || u.ThoughtsTokenCount == 0 || u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount+u.ThoughtsTokenCount {
				t.Errorf("usage = %+v", u)
			}
			if resp.ModelVersion != model || resp.ResponseID == "" || resp.Candidates[0].FinishReason != genai.FinishReasonStop {
				t.Errorf("response = %+v", resp)
			}
			if tier := resp.SDKHTTPResponse.Headers.Get("x-gemini-service-tier"); tier != "standard" {
				t.Errorf("tier = %q", tier)
			}
		})
	}
	calls := s.Calls()
	if len(calls) != 2 || calls[0].ID != "row-17" || calls[0].Digest != calls[1].Digest || calls[0].Status != 200 || calls[0].MicroUSD == 0 {
		t.Errorf("calls = %+v", calls)
	}
}

func TestSDKStream(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, AnswerTokens: 100}}})
	for name, c := range ways(t, s) {
		t.Run(name, func(t *testing.T) {
			prompt := genai.Text("Describe the walnut desk.")
			whole, err := c.Models.GenerateContent(t.Context(), model, prompt, nil)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			var last *genai.GenerateContentResponse
			chunks := 0
			for chunk, err := range c.Models.GenerateContentStream(t.Context(), model, prompt, nil) {
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString(chunk.Text())
				last = chunk
				chunks++
			}
			if chunks < 3 || text.String() != whole.Text() {
				t.Errorf("%d chunks gave %q, want several that give %q", chunks, text.String(), whole.Text())
			}
			if last.Candidates[0].FinishReason != genai.FinishReasonStop || *last.UsageMetadata.PromptTokensDetails[0] != *whole.UsageMetadata.PromptTokensDetails[0] ||
				last.UsageMetadata.TotalTokenCount != whole.UsageMetadata.TotalTokenCount {
				t.Errorf("last chunk = %+v, want the usage of %+v", last.UsageMetadata, whole.UsageMetadata)
			}
		})
	}
	for _, c := range s.Calls() {
		if c.Status != 200 || c.Running {
			t.Errorf("call %+v has not ended well", c)
		}
	}
}

func TestSDKCountAndModels(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	for name, c := range ways(t, s) {
		t.Run(name, func(t *testing.T) {
			n, err := c.Models.CountTokens(t.Context(), model, genai.Text("one two three"), nil)
			if err != nil || n.TotalTokens != 3 {
				t.Errorf("CountTokens = %+v, %v; want 3", n, err)
			}
			m, err := c.Models.Get(t.Context(), model, nil)
			if err != nil || m.InputTokenLimit != 1<<20 || !m.Thinking {
				t.Errorf("Get = %+v, %v", m, err)
			}
			page, err := c.Models.List(t.Context(), nil)
			if err != nil || len(page.Items) != len(geminitest.DefaultModels()) {
				t.Errorf("List = %+v, %v", page, err)
			}
		})
	}
	if got := s.MaxSent(model, geminitest.Requests, 1<<40); got != 0 {
		t.Errorf("countTokens and models used %d requests, want none", got)
	}
}

func TestSDKEmbed(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	const embedding = "gemini-embedding-001"
	for name, c := range ways(t, s) {
		t.Run(name, func(t *testing.T) {
			s.Reset()
			dims := int32(256)
			texts := []*genai.Content{
				genai.NewContentFromText("red walnut desk", genai.RoleUser), genai.NewContentFromText("walnut desk, red", genai.RoleUser),
				genai.NewContentFromText("a fast blue bicycle", genai.RoleUser),
			}
			resp, err := c.Models.EmbedContent(t.Context(), embedding, texts, &genai.EmbedContentConfig{OutputDimensionality: &dims})
			if err != nil {
				t.Fatal(err)
			}
			v := resp.Embeddings
			if len(v) != 3 || len(v[0].Values) != 256 || math.Abs(dot(v[0].Values, v[0].Values)-1) > 1e-5 {
				t.Fatalf("embeddings are not three unit vectors of 256")
			}
			if near, far := dot(v[0].Values, v[1].Values), dot(v[0].Values, v[2].Values); near < 0.9 || far > 0.5 {
				t.Errorf("similar texts are at %.2f, others at %.2f", near, far)
			}
			if got := s.MaxInWindow(embedding, geminitest.Requests, 1<<40); got != 3 {
				t.Errorf("a batch of three counted as %d requests", got)
			}
		})
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestSDKErrors(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Strict: true, Keys: []string{"good"}})
	c := sdk(t, "http://gemini.invalid", s)
	_, err := c.Models.GenerateContent(t.Context(), "gemini-9", genai.Text("hello"), nil)
	wantAPIError(t, err, 404, "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.")
	s.RevokeKey("good")
	_, err = c.Models.GenerateContent(t.Context(), model, genai.Text("hello"), nil)
	if api := wantAPIError(t, err, 400, "API key not valid."); api.Details[0]["reason"] != "API_KEY_INVALID" {
		t.Errorf("details = %v", api.Details)
	}
	s.RestoreKey("good")
	if _, err = c.Models.GenerateContent(t.Context(), model, genai.Text("hello"), nil); err != nil {
		t.Errorf("after RestoreKey: %v", err)
	}
}

func wantAPIError(t *testing.T, err error, code int, text string) genai.APIError {
	t.Helper()
	var api genai.APIError
	if !errors.As(err, &api) || api.Code != code || !strings.Contains(api.Message, text) {
		t.Fatalf("error = %v, want %d %q", err, code, text)
	}
	return api
}
