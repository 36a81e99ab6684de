package geminitest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"nightshift/limiter/gemini/geminitest"
)

// answer is what a raw call got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of the call, or of reading the body
}

const hello = `{"contents":[{"parts":[{"text":"hello there"}]}]}`

// post makes a raw call on the transport.
func post(ctx context.Context, s *geminitest.Server, path, body string, header ...string) answer {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gemini.invalid/v1beta/models/"+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	r.Header.Set("X-Goog-Api-Key", "good")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.RoundTrip(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

// generate posts a prompt to the model.
func generate(ctx context.Context, s *geminitest.Server, prompt string) answer {
	body, _ := json.Marshal(map[string]any{"contents": []any{map[string]any{"parts": []any{map[string]string{"text": prompt}}}}})
	return post(ctx, s, model+":generateContent", string(body))
}

// refusal is the error body of a 429.
type refusal struct {
	Error struct {
		Code    int
		Message string
		Status  string
		Details []struct {
			Type       string `json:"@type"`
			RetryDelay string
			Violations []struct {
				QuotaMetric, QuotaID, QuotaValue string
				QuotaDimensions                  map[string]string
			}
		}
	}
}

func (a answer) refusal(t *testing.T) refusal {
	t.Helper()
	var r refusal
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	return r
}

// quotaIDs are the violated quotas.
func (r refusal) quotaIDs() (ids []string) {
	for _, d := range r.Error.Details {
		for _, v := range d.Violations {
			ids = append(ids, v.QuotaID+"="+v.QuotaValue)
		}
	}
	return ids
}

func (r refusal) retryDelay() string {
	for _, d := range r.Error.Details {
		if d.RetryDelay != "" {
			return d.RetryDelay
		}
	}
	return ""
}
