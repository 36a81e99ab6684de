package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// seen keeps the records of calls.
type seen struct {
	mu   sync.Mutex
	kept []gemini.Record
}

func (s *seen) Put(r gemini.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, r)
}

func (s *seen) last(t *testing.T) gemini.Record {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		t.Fatal("no call was recorded")
	}
	return s.kept[len(s.kept)-1]
}

// TestWhoCalls: class, feature and path come from the key; headers lower the
// class and name the feature.
func TestWhoCalls(t *testing.T) {
	t.Parallel()
	records := &seen{}
	s := start(t, knobs{transport: func(c *gemini.TransportConfig) { c.Records = records }})
	secret, id, err := s.keys.Add(t.Context(), Identity{Name: "acme", Project: "proj", Class: "interactive", Feature: "chat",
		Path: limiter.Path{Organization: "org", Tenant: "acme", Team: "web"}})
	s.must(err)
	for _, c := range []struct {
		header         []string
		class, feature string
	}{
		{nil, "interactive", "chat"},
		{[]string{"x-nightshift-class", "bulk"}, "bulk", "chat"},
		{[]string{"x-nightshift-class", "interactive", "x-nightshift-feature", "search.v2"}, "interactive", "search.v2"},
	} {
		got := s.send(http.MethodPost, generate, question, append(c.header, "x-goog-api-key", secret, "x-nightshift-trace", "trace-"+c.class)...)
		r := records.last(t)
		if got.status != http.StatusOK || r.Class != c.class || r.Feature != c.feature || r.TraceID != "trace-"+c.class ||
			r.Path != (limiter.Path{Organization: "org", Tenant: "acme", Team: "web", Key: id}) {
			t.Errorf("%v: %d, recorded as %+v", c.header, got.status, r)
		}
	}
	bare := s.key("bulk", "")
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", bare)
	if e := s.rpcError(got); got.status != http.StatusBadRequest || !strings.Contains(e.Message, "x-nightshift-feature") {
		t.Errorf("no feature: %d %s", got.status, e.Message)
	}
	if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", bare, "x-nightshift-feature", "batch"); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestKeysThatDoNotFit: of another project, of a class that is gone, revoked:
// each says what it is.
func TestKeysThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{})
	other, _, err := s.keys.Add(t.Context(), Identity{Name: "o", Project: "second", Class: "interactive", Feature: "x"})
	s.must(err)
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", other), http.StatusForbidden, `belongs to project "second"`)
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", s.key("gone", "x")), http.StatusBadRequest, "not configured")
	revoked, id, err := s.keys.Add(t.Context(), Identity{Name: "r", Project: "proj", Class: "interactive", Feature: "x"})
	s.must(err)
	_, err = s.keys.Revoke(t.Context(), id)
	s.must(err)
	s.refused(s.send(http.MethodPost, generate, question, "x-goog-api-key", revoked), http.StatusBadRequest, "revoked ("+id+")")
	s.redis.SetError("LOADING")
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", theirKey)
	if e := s.rpcError(got); got.status != http.StatusServiceUnavailable || e.Status != "UNAVAILABLE" || got.header.Get("Retry-After") != "1" {
		t.Errorf("without Redis: %d %s", got.status, got.body)
	}
}

// TestRedisAwayInAnyWay: callers who are known already are let through softly, as
// many as that is meant for, and then refused in a way that passes.
func TestRedisAwayInAnyWay(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{transport: func(c *gemini.TransportConfig) {
		c.Soft = map[string]gemini.SoftAllowance{"interactive": {PerMinute: 2}}
	}})
	chat, nightly := s.chat(), s.key("bulk", "nightly")
	for _, key := range []string{chat, nightly} {
		if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", key); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	s.redis.SetError("LOADING Redis is loading the dataset in memory")
	for range 2 {
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", chat)
		if got.status != http.StatusOK || got.header.Get("X-Nightshift-Decision") != "soft" {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	}
	for _, key := range []string{chat, nightly} {
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", key)
		if e := s.rpcError(got); got.status != http.StatusServiceUnavailable || e.Status != "UNAVAILABLE" || got.header.Get("Retry-After") == "" || strings.Contains(e.Message, "LOADING") {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	}
}

// TestObserveMode: everyone passes, named by their key's hash, and nobody is
// refused for want of quota; a key that was revoked still is.
func TestObserveMode(t *testing.T) {
	t.Parallel()
	records := &seen{}
	s := start(t, knobs{
		limits:    limiter.Limits{RPM: 1, InputTPM: 1_000_000},
		transport: func(c *gemini.TransportConfig) { c.Observe, c.Records = true, records },
		config:    func(c *Config) { c.Observe = true },
	})
	for i := range 3 {
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", theirKey)
		if got.status != http.StatusOK || got.header.Get("X-Nightshift-Decision") != "observed" {
			t.Fatalf("%d %v %s", got.status, got.header, got.body)
		}
		if over := got.header.Get("X-Nightshift-Over"); (over != "") != (i > 0) {
			t.Errorf("call %d: over %q", i, over)
		}
	}
	if r := records.last(t); r.Class != "interactive" || r.Feature != "unknown-"+keyHash(theirKey)[:8] || r.Path.Key != idOf(keyHash(theirKey)) {
		t.Errorf("%+v", r)
	}
	if got := s.send(http.MethodPost, generate, question); got.status != http.StatusForbidden {
		t.Errorf("without any key: %d", got.status)
	}
	_, id, err := s.keys.Add(t.Context(), Identity{Name: "r", Project: "proj", Class: "interactive", Feature: "x"})
	s.must(err)
	_, err = s.keys.Revoke(t.Context(), id)
	s.must(err)
	secret := s.chat()
	if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", secret); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	_, err = s.keys.Revoke(t.Context(), "test")
	s.must(err)
	if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", secret); got.status != http.StatusBadRequest {
		t.Errorf("revoked: %d %s", got.status, got.body)
	}
}

// TestIdentityRefusalsAreLogged: a line a reason and minute, with what finds the
// call, and never with what the caller sent.
func TestIdentityRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := start(t, knobs{config: func(c *Config) { c.Now = func() time.Time { return now } }})
	only, id, err := s.keys.Add(t.Context(), Identity{Name: "one", Project: "proj", Class: "bulk", Features: []string{"tags"}})
	s.must(err)
	for range 3 {
		s.send(http.MethodPost, generate, question, "x-goog-api-key", theirKey, "x-nightshift-trace", "trace-of-unknown")
		s.send(http.MethodPost, generate, question)
		s.send(http.MethodPost, generate, question, "x-goog-api-key", only, "Authorization", "Bearer "+theirKey)
		s.send(http.MethodPost, generate, question, "x-goog-api-key", only, "x-nightshift-class", "interactive")
		s.send(http.MethodPost, generate, question, "x-goog-api-key", only, "x-nightshift-feature", "elsewhere")
	}
	now = now.Add(time.Minute)
	s.send(http.MethodPost, generate, question, "x-goog-api-key", theirKey, "x-nightshift-trace", "trace-of-the-last")
	log := s.log.String()
	for text, want := range map[string]int{
		"level=WARN msg=\"callers are refused for who they are\"": 6, "trace_id=trace-of-unknown reason=\"identity: unknown key\" count=1": 1,
		"trace_id=trace-of-the-last reason=\"identity: unknown key\" count=3": 1, "identity: no key": 1, "identity: credentials": 1,
		"status=403 key=" + id: 2, "identity: class": 1, "identity: feature": 1, theirKey: 0, only: 0, "elsewhere": 0,
	} {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%q is there %d times, want %d, in\n%s", text, got, want, log)
		}
	}
}
