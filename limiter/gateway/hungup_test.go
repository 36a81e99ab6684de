package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// heldGate answers nobody who does not hang up.
type heldGate struct {
	*limiter.Redis
	asked chan struct{}
}

func (g heldGate) Acquire(ctx context.Context, q limiter.Request) (*limiter.Permit, error) {
	g.asked <- struct{}{}
	<-ctx.Done()
	return g.Redis.Acquire(ctx, q)
}

// TestHungUpWhileAsking: who leaves while Redis is asked is no refused call, and no
// sign that Redis is away.
func TestHungUpWhileAsking(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{permitsPath: onePermit, "/v1beta/models/" + flash + ":generateContent": question} {
		asked, records := make(chan struct{}), &seen{}
		s := start(t, knobs{transport: func(c *gemini.TransportConfig) {
			c.Gate, c.Records = heldGate{c.Gate.(*limiter.Redis), asked}, records
		}})
		ctx, leave := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		req.Header.Set("x-goog-api-key", s.chat())
		go func() { <-asked; leave() }()
		got := httptest.NewRecorder()
		s.gate.ServeHTTP(got, req)
		if got.Code != statusClientGone {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
		if r := records.last(t); r.Refusal != "" || r.Sent || r.Error == "" {
			t.Errorf("%s: %+v", path, r)
		}
		if log := s.log.String(); strings.Contains(log, "Redis") || strings.Contains(log, "refused") {
			t.Errorf("%s: %s", path, log)
		}
	}
}
