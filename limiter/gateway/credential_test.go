package gateway

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"nightshift/limiter/gemini/geminitest"
)

// TestOneCredential: a key is taken from any of its places; two different ones
// are refused, none is what Gemini calls an unregistered caller.
func TestOneCredential(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{sim: geminitest.Config{Keys: []string{providerKey}}})
	key, other := s.chat(), s.key("bulk", "other")
	for name, c := range map[string]struct {
		query  string
		header []string
		status int
		text   string
	}{
		"header":          {"", []string{"x-goog-api-key", key}, 200, ""},
		"bearer":          {"", []string{"Authorization", "bearer " + key}, 200, ""},
		"query":           {"?key=" + key, nil, 200, ""},
		"the same twice":  {"?key=" + key, []string{"x-goog-api-key", key}, 200, ""},
		"cookies go":      {"", []string{"x-goog-api-key", key, "Cookie", "session=1"}, 200, ""},
		"none":            {"", nil, 403, "unregistered"},
		"empty":           {"?key=", []string{"x-goog-api-key", " "}, 403, "unregistered"},
		"two":             {"?key=" + other, []string{"x-goog-api-key", key}, 400, "two different"},
		"two headers":     {"", []string{"x-goog-api-key", key, "x-goog-api-key", other}, 400, "two different"},
		"two in query":    {"?key=" + key + "&key=" + other, nil, 400, "two different"},
		"a token too":     {"?access_token=ya29.abcdefgh", []string{"x-goog-api-key", key}, 400, "two different"},
		"basic":           {"", []string{"Authorization", "Basic dTpw"}, 400, "Bearer"},
		"unreadable":      {"?key=" + key + ";x=%zz", nil, 403, "unregistered"},
		"unknown":         {"", []string{"x-goog-api-key", theirKey}, 400, "API key not valid"},
		"the provider's":  {"", []string{"x-goog-api-key", providerKey}, 400, "API key not valid"},
		"unknown, so not": {"?key=" + theirKey + "&alt=sse", nil, 400, "API key not valid"},
	} {
		got := s.send(http.MethodPost, generate+c.query, question, c.header...)
		if got.status != c.status || c.text != "" && !strings.Contains(s.rpcError(got).Message, c.text) {
			t.Errorf("%s: %d, want %d with %q: %s", name, got.status, c.status, c.text, got.body)
		}
	}
	for _, call := range s.sim.Calls() {
		if call.Key != geminitest.KeyHash(providerKey) {
			t.Errorf("the provider got another key than its own: %+v", call)
		}
	}
	bad := s.send(http.MethodPost, generate, question, "x-goog-api-key", theirKey)
	if !strings.Contains(bad.body, "API_KEY_INVALID") || !strings.Contains(bad.body, "googleapis.com") {
		t.Errorf("not what Gemini answers: %s", bad.body)
	}
}

// TestKeysAppearNowhere: whatever goes wrong, no key of anyone's is in a log, in
// an answer or in what is sent, nor in the request that an outer handler logs.
func TestKeysAppearNowhere(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var sent strings.Builder
	leak := errors.New("dial https://generativelanguage.googleapis.com/?key=" + theirKey + ": refused, X-Goog-Api-Key: " + providerKey)
	for name, base := range map[string]sender{
		"dial":  func(*http.Request) (*http.Response, error) { return nil, leak },
		"panic": func(*http.Request) (*http.Response, error) { panic(http.ErrAbortHandler) },
		"400": func(*http.Request) (*http.Response, error) {
			return reply(400, "application/json", `{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}`), nil
		},
		"200": func(*http.Request) (*http.Response, error) { return reply(200, "text/html", "<html>"), nil },
	} {
		s := start(t, knobs{base: sender(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			sent.WriteString(r.URL.String())
			for h, v := range r.Header {
				if h != "X-Goog-Api-Key" || v[0] != providerKey || len(v) != 1 {
					sent.WriteString(h + ": " + strings.Join(v, ",") + "\n")
				}
			}
			return base(r)
		})})
		key := s.chat()
		_, err := s.keys.Adopt(t.Context(), theirKey, Identity{Name: "theirs", Project: "proj", Class: "bulk", Feature: "x"})
		s.must(err)
		s.watched()
		var answers strings.Builder
		for _, path := range []string{generate, "/v1beta/models/x:generateContent", "/v1beta/files", "/nowhere", "/v1beta/models/%2e%2e"} {
			for _, q := range []string{"?key=" + key, "?alt=sse&key=" + theirKey, "?key=" + theirKey + "&key=" + key, "?key=" + url.QueryEscape(key+" "+theirKey)} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path+q, strings.NewReader(question))
				s.must(err)
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					continue // the panic breaks the connection; its text has our own URL in it
				}
				got := read(t, resp)
				answers.WriteString(got.body)
				for h, v := range got.header {
					answers.WriteString(h + ": " + strings.Join(v, ",") + "\n")
				}
			}
		}
		for place, text := range map[string]string{"log": s.log.String(), "answers": answers.String(), "sent": sent.String()} {
			for who, k := range map[string]string{"ours": key, "theirs": theirKey, "the provider's": providerKey} {
				if strings.Contains(text, k) {
					t.Errorf("%s: %s key is in the %s", name, who, place)
				}
			}
		}
		if s.log.String() == "" || answers.Len() == 0 || sent.Len() == 0 {
			t.Errorf("%s: nothing was looked at", name)
		}
	}
}

// TestKeyInThePath: whoever puts it there has it neither logged nor read back.
func TestKeyInThePath(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	for _, key := range []string{s.chat(), theirKey} {
		for _, path := range []string{"/" + key + "/v1beta/models", "/v1beta/" + key, "/v1beta/v1/" + key} {
			got := s.send(http.MethodGet, path, "", "x-goog-api-key", s.chat())
			if s.rpcError(got); got.status != http.StatusNotFound || strings.Contains(got.body+s.log.String(), key) {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
	}
}

// watched puts a handler around the gateway that logs each request after it was served.
func (s *setup) watched() {
	s.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.log.logger().Info("access", "url", r.URL.String(), "uri", r.RequestURI, "header", r.Header) }()
		s.gate.ServeHTTP(w, r)
	}))
	s.Cleanup(server.Close)
	s.url = server.URL
}
