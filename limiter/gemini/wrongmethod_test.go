package gemini

import (
	"fmt"
	"strings"
	"testing"
)

// TestWrongMethod: who asks a model for what it does not do is wrong alone; a model
// that is not there is nobody's fault, and closes.
func TestWrongMethod(t *testing.T) {
	for path, closes := range map[string]int{
		"/v1beta/models/gemini-2.5-flash:generateContent":        1,
		"/v1beta/models/gemini-2.5-flash:embedContent":           0,
		"/v1beta/models/gemini-2.5-flash:batchEmbedContents":     0,
		"/v1beta/models/gemini-embedding-001:embedContent":       1,
		"/v1beta/models/gemini-embedding-001:generateContent":    0,
		"/v1beta/models/gemini-embedding-001:batchEmbedContents": 1,
	} {
		const said = `{"error":{"code":404,"message":"models/x is not found for API version v1beta, or is not supported for y. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}`
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(404, "application/json", said), gate)
		ctx, obs := callCtx(t.Context())
		body := question
		if strings.Contains(path, ":embed") || strings.Contains(path, ":batchEmbed") {
			body = `{"content":{"parts":[{"text":"hello"}]},"requests":[{"content":{"parts":[{"text":"hello"}]}}]}`
		}
		resp, err := tr.RoundTrip(post(ctx, path, body))
		if err != nil {
			t.Fatal(path, err)
		}
		if resp.StatusCode != 404 || obs.Verdict == nil || obs.Verdict.Kind != Permanent || len(gate.trips) != closes {
			t.Errorf("%s: HTTP %d, %s, %d breakers; want %d", path, resp.StatusCode, fmt.Sprint(obs.Verdict), len(gate.trips), closes)
		}
	}
}
