package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"nightshift/limiter/gemini"
)

const other = "gemini-3.5-flash"

// allMoved is a source of one ramp whose calls are all moved.
type allMoved struct{}

func (allMoved) Ramps(context.Context) ([]gemini.Ramp, error) {
	return []gemini.Ramp{{Scope: gemini.RampScope{Kind: "feature", Name: "chat"}, From: flash, To: other, Sticky: gemini.StickyConversation,
		Seed: "s", Steps: []int64{1_000_000}, Before: 1_000_000, Phase: gemini.RampMoving}}, nil
}

// TestRoutedCalls: an alias and a moved call are answered by the real model, which
// the body and a header name, unary and in a stream.
func TestRoutedCalls(t *testing.T) {
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: flash}, gemini.Model{Name: other}, gemini.Model{Name: "gemini-embedding-001", Context: 2048})
	if err != nil {
		t.Fatal(err)
	}
	routes, err := gemini.NewRoutes(gemini.RoutesConfig{Lanes: lanes, Aliases: map[string]string{"chat-model": flash, "fast": other}, Source: allMoved{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := routes.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := start(t, knobs{models: []gemini.Model{{Name: other}}, transport: func(c *gemini.TransportConfig) { c.Routes = routes }})
	chat, _, err := s.keys.Add(t.Context(), Identity{Name: "web", Project: "proj", Class: "interactive", Feature: "chat"})
	s.must(err)
	search, _, err := s.keys.Add(t.Context(), Identity{Name: "search", Project: "proj", Class: "interactive", Feature: "search"})
	s.must(err)
	for _, c := range []struct{ key, path, model, header string }{
		{search, "/v1beta/models/fast:generateContent", other, other},
		{search, "/v1/models/chat-model:streamGenerateContent?alt=sse", flash, flash},
		{search, generate, flash, ""},
		{chat, generate, other, other},
		{chat, stream, other, other},
		{chat, "/v1beta/models/chat-model:generateContent", other, other},
		{chat, "/v1beta/models/" + other + ":generateContent", other, ""},
	} {
		resp, body := s.routed(c.key, c.path, "")
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"modelVersion":"`+c.model+`"`) || resp.Header.Get(gemini.HeaderModel) != c.header {
			t.Errorf("%s: HTTP %d, header %q, want %q of %s: %s", c.path, resp.StatusCode, resp.Header.Get(gemini.HeaderModel), c.header, c.model, body)
		}
	}
	if resp, body := s.routed(chat, generate, strings.Repeat("x", mostSession+1)); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "x-nightshift-session: want at most 256 characters") {
		t.Errorf("a long session: HTTP %d, %s", resp.StatusCode, body)
	}
}

func (s *setup) routed(key, path, session string) (*http.Response, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+path, strings.NewReader(question))
	s.must(err)
	req.Header.Set("X-Goog-Api-Key", key)
	req.Header.Set(headerSession, session)
	resp, err := http.DefaultClient.Do(req)
	s.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	s.must(err)
	return resp, string(body)
}
