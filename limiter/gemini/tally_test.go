package gemini

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// deafGate gives permits and takes none back.
type deafGate struct{ freeGate }

func (deafGate) Settle(context.Context, limiter.Settlement) error { return errors.New("Redis is away") }

// TestLostSettlements are one line a minute, with their number.
func TestLostSettlements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tr := newTestTransport(t, replies(200, "application/json", good), &fakeGate{}, func(c *TransportConfig) {
			c.Gate, c.Logger = deafGate{}, slog.New(slog.NewTextHandler(&log, nil))
		})
		for range 13 {
			ctx, _ := callCtx(t.Context())
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
				t.Fatal(err)
			}
			pass(6 * time.Second)
		}
		if n := strings.Count(log.String(), "settlements lost"); n != 2 || !strings.Contains(log.String(), "count=10") {
			t.Errorf("%d lines, want 2 of which the second has 10:\n%s", n, log.String())
		}
	})
}
