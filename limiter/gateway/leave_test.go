package gateway

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeavingIsSeenFirst: a load balancer that keeps asking is told 503 before calls
// are refused; who only waited for the start holds nobody up.
func TestLeavingIsSeenFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		asks []time.Duration // before the end, by how long ago
		want bool
	}{
		"nobody":   {nil, false},
		"a start":  {[]time.Duration{time.Minute}, false},
		"balancer": {[]time.Duration{20 * time.Second, 10 * time.Second}, true},
		"gone":     {[]time.Duration{2 * time.Minute, time.Minute}, false},
	} {
		now := time.Now()
		g := &Gateway{}
		for _, ago := range test.asks {
			g.cfg.Now = func() time.Time { return now.Add(-ago) }
			if _, err := g.Ready(t.Context()); err != nil {
				t.Errorf("%s: not ready: %v", name, err)
			}
		}
		g.cfg.Now = func() time.Time { return now }
		if got := g.Leave(); got != test.want {
			t.Errorf("%s: somebody looks: %v", name, got)
		}
		if _, err := g.Ready(t.Context()); !errors.Is(err, errLeaving) {
			t.Errorf("%s: ready while it leaves: %v", name, err)
		}
	}
}

type watchedHandler struct {
	Gateway
	seen bool
}

func (h *watchedHandler) Leave() bool { return h.seen }

func TestServerWaitsWhileItLeaves(t *testing.T) {
	t.Parallel()
	two := 2 * time.Second
	for _, test := range []struct {
		seen bool
		wait *time.Duration
		want time.Duration
	}{{false, nil, 0}, {true, nil, defaultLeave}, {true, &two, two}, {true, new(time.Duration), 0}} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			err := Server{Leave: test.wait}.leave(&watchedHandler{seen: test.seen}, nil, slog.New(slog.DiscardHandler))
			if took := time.Since(begun); err != nil || took != test.want {
				t.Errorf("%+v: took %s, %v", test, took, err)
			}
			ended := make(chan error, 1)
			ended <- context.Canceled
			if err := (Server{}).leave(&watchedHandler{seen: true}, ended, slog.New(slog.DiscardHandler)); !errors.Is(err, context.Canceled) {
				t.Errorf("a server that ended by itself: %v", err)
			}
		})
	}
}
