package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"key AIzaSyA1234567890abcdefghijklmnopqrstuv is bad": "key [redacted] is bad",
		"AQ.Ab8RN6JqYzWvX_some-thing-long":                   "[redacted]",
		"x/v1beta?key=abc123&alt=sse":                        "x/v1beta?key=[redacted]&alt=sse",
		"x?alt=sse&KEY=abc123":                               "x?alt=sse&KEY=[redacted]",
		"x%3Fkey%3Dabc123":                                   "x%3Fkey%3D[redacted]",
		`Get "https://h/p?key=abc": EOF`:                     `Get "https://h/p?key=[redacted]": EOF`,
		"Authorization: Bearer ya29.abcdefgh":                "Authorization: [redacted]",
		"map[X-Goog-Api-Key:[secretvalue1]]":                 "map[X-Goog-Api-Key:[[redacted]]]",
		`"x-goog-api-key": "secretvalue1"`:                   `"x-goog-api-key": "[redacted]"`,
		"the monkey=banana and a key: value stay":            "the monkey=banana and a key: value stay",
		"nsk_ABCDEFGHIJ234567 is revoked":                    "[redacted] is revoked",
		"nsk_ alone, nsk_lower":                              "nsk_ alone, nsk_lower",
		"ask AQ. or AIza":                                    "ask AQ. or AIza",
		"":                                                   "",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := redactKey("my-own-odd-key failed", "my-own-odd-key"); strings.Contains(got, "odd") {
		t.Errorf("%q", got)
	}
}

// memory keeps records.
type memory struct {
	mu   sync.Mutex
	kept []Record
}

func (m *memory) Put(r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = append(m.kept, r)
}

const theirKey = "AIzaSyTheirsTheirsTheirsTheirsTheirs123"

// TestKeysAppearNowhere: whatever happens, no key is in an error, a log line or
// a record, and the provider gets one credential.
func TestKeysAppearNowhere(t *testing.T) {
	leaky := fmt.Errorf("dial %s?key=%s with %s: %w", DefaultBaseURL, theirKey, testKey, context.DeadlineExceeded)
	for name, base := range map[string]sender{
		"good":    replies(200, "application/json", good),
		"refused": replies(400, "application/json", `{"error":{"code":400,"message":"API key `+testKey+` not valid"}}`),
		"failed":  func(*http.Request) (*http.Response, error) { return nil, leaky },
	} {
		var logged bytes.Buffer
		var sent *http.Request
		records, gate := &memory{}, &fakeGate{}
		tr := newTestTransport(t, sender(func(r *http.Request) (*http.Response, error) {
			sent = r
			return base(r)
		}), gate, func(c *TransportConfig) {
			c.Records, c.Logger = records, slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		ctx, obs := callCtx(t.Context())
		req := post(ctx, generate+"?key="+theirKey+"&alt=json&$httpHeaders=x", question)
		for name, value := range map[string]string{
			"X-Goog-Api-Key": theirKey, "Authorization": "Bearer ya29.token-of-theirs", "X-HTTP-Method-Override": "DELETE",
			"X-Goog-FieldMask": "candidates", "Accept-Encoding": "br", "Cookie": "a=b", "X-Goog-Api-Client": "their-sdk/1",
		} {
			req.Header.Set(name, value)
		}
		_, err := tr.RoundTrip(req)
		seen, _ := json.Marshal(records.kept)
		all := fmt.Sprintf("%v %+v %s %s %+v", err, err, logged.String(), seen, obs.Verdict)
		if strings.Contains(all, theirKey) || strings.Contains(all, testKey) || strings.Contains(all, "ya29") {
			t.Errorf("%s: a key is in %s", name, all)
		}
		if len(records.kept) != 1 {
			t.Errorf("%s: %d records", name, len(records.kept))
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the cause is gone: %v", name, err)
		}
		h := sent.Header
		if h.Get("X-Goog-Api-Key") != testKey || sent.URL.RawQuery != "" || h.Get("X-Goog-Api-Client") == "" {
			t.Errorf("%s: sent %s %v", name, sent.URL, h)
		}
		for _, gone := range []string{"Authorization", "Cookie", "X-Http-Method-Override", "X-Goog-Fieldmask", "Accept-Encoding"} {
			if h.Get(gone) != "" {
				t.Errorf("%s: %s went out", name, gone)
			}
		}
		if req.Header.Get("X-Goog-Api-Key") != theirKey || req.URL.Query().Get("key") != theirKey {
			t.Errorf("%s: the caller's request was changed", name)
		}
	}
}

func TestKeyOfTheRefusedRequest(t *testing.T) {
	tr := newTestTransport(t, replies(200, "", ""), &fakeGate{})
	ctx, _ := callCtx(t.Context())
	_, err := tr.RoundTrip(post(ctx, "/v1beta/files/"+theirKey+"?key="+theirKey, question))
	if err == nil || strings.Contains(err.Error(), theirKey) {
		t.Errorf("%v", err)
	}
}

// TestRequestIsSentAsItCame: the body is read once and goes out unchanged, and
// can be sent again by the base.
func TestRequestIsSentAsItCame(t *testing.T) {
	var bodies []string
	tr := newTestTransport(t, sender(func(r *http.Request) (*http.Response, error) {
		again, _ := r.GetBody()
		for _, b := range []io.ReadCloser{r.Body, again} {
			raw, _ := io.ReadAll(b)
			bodies = append(bodies, string(raw))
		}
		if r.ContentLength != int64(len(question)) {
			bodies = append(bodies, "length is wrong")
		}
		return reply(200, "application/json", good), nil
	}), &fakeGate{})
	ctx, _ := callCtx(t.Context())
	req := post(ctx, generate, "")
	closed := &closing{Reader: strings.NewReader(question)}
	req.Body, req.ContentLength = closed, -1 // chunked
	if _, err := tr.RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 2 || bodies[0] != question || bodies[1] != question {
		t.Errorf("%q", bodies)
	}
	if !closed.done {
		t.Error("the request's body was not closed")
	}
}

type closing struct {
	io.Reader
	done bool
}

func (c *closing) Close() error { c.done = true; return nil }
