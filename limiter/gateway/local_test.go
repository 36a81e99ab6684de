package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/limiter/gemini"
)

// TestReadyWithoutRedis: a gateway that answers people from its own allowance while Redis
// is away stays ready for as long as it does, and says so; with nobody known, or nothing
// allowed, it is not.
func TestReadyWithoutRedis(t *testing.T) {
	t.Parallel()
	var away, leaves error
	s := start(t, knobs{
		transport: func(c *gemini.TransportConfig) {
			c.Soft = map[string]gemini.SoftAllowance{"interactive": {PerMinute: 2}}
		},
		config: func(c *Config) {
			transport, keys := c.Transport.(*gemini.Transport), c.Keys.(*Keys)
			c.Local = Passing(transport, keys)
			c.Ready = func(context.Context) error { return errors.Join(away, leaves) }
		},
	})
	now := time.Now()
	s.keys.now = func() time.Time { return now }
	ready := func(status int, words ...string) {
		t.Helper()
		got := s.send(http.MethodGet, "/readyz", "")
		if got.status != status {
			t.Errorf("%d %s", got.status, got.body)
		}
		for _, w := range words {
			if !strings.Contains(got.body, w) {
				t.Errorf("no %q in %s", w, got.body)
			}
		}
	}
	call := func(key string, want int) {
		t.Helper()
		if got := s.send(http.MethodPost, generate, question, "x-goog-api-key", key); got.status != want {
			t.Errorf("a call: %d %s; want %d", got.status, got.body, want)
		}
	}
	chat := s.chat()
	ready(http.StatusOK, `"ready":true`)
	gone := func() {
		s.redis.SetError("LOADING Redis is loading the dataset in memory")
		away = fmt.Errorf("%w: no answer", ErrAway)
	}
	gone()
	ready(http.StatusServiceUnavailable, `"ready":false`, "no answer") // nobody is known
	s.redis.SetError("")
	now = now.Add(time.Minute)
	call(chat, http.StatusOK)
	gone()
	now = now.Add(5 * time.Minute)
	ready(http.StatusOK, `"ready":true`, "no answer", "interactive (2 requests a minute)", now.Add(5*time.Minute).UTC().Format("15:04:05"))
	call(chat, http.StatusOK)
	leaves = errors.New("no lane has limits")
	away = nil
	ready(http.StatusServiceUnavailable, "no lane has limits") // which no allowance helps
	away, leaves = fmt.Errorf("%w: no answer", ErrAway), nil
	now = now.Add(5*time.Minute + time.Second)
	ready(http.StatusServiceUnavailable, `"ready":false`)
	call(chat, http.StatusServiceUnavailable)
	now = now.Add(-time.Minute)
	s.gate.cfg.Transport.(*gemini.Transport).SetSoft(nil)
	ready(http.StatusServiceUnavailable, `"ready":false`)
}

// TestKnownUntil is the longest that a caller is believed: not past its own end, and not
// for a key that is no good.
func TestKnownUntil(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(m int) time.Time { return noon.Add(time.Duration(m) * time.Minute) }
	k := NewKeys(nil, nil)
	if got := k.KnownUntil(); !got.IsZero() {
		t.Errorf("nobody is known until %s", got)
	}
	for i, x := range []struct {
		l    lookup
		want time.Time
	}{
		{lookup{err: ErrRevoked, at: at(9)}, time.Time{}},
		{lookup{identity: Identity{ID: "k_1", Expires: at(4)}, at: at(0)}, at(4)},
		{lookup{identity: Identity{ID: "k_2"}, at: at(0)}, at(10)},
		{lookup{identity: Identity{ID: "k_3", Expires: at(60)}, at: at(-3)}, at(10)},
	} {
		k.cache.put(fmt.Sprint(i), x.l)
		if got := k.KnownUntil(); !got.Equal(x.want) {
			t.Errorf("after %d: until %s, want %s", i, got, x.want)
		}
	}
}
