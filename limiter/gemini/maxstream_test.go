package gemini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// ticking streams a chunk a second until the request's context ends.
func ticking(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		for {
			select {
			case <-ctx.Done():
				w.CloseWithError(context.Cause(ctx))
				return
			case <-time.After(time.Second):
				_, _ = io.WriteString(w, chunk("word ", "", 100, 7))
			}
		}
	}()
	return r
}

// A stream ends when it has lasted as long as its class may hold one; what came is
// charged, and the permit held until then.
func TestStreamsEndAtTheirBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{}
		tr := newTestTransport(t, sender(func(req *http.Request) (*http.Response, error) {
			resp := reply(200, "text/event-stream", "")
			resp.Body = ticking(req.Context())
			return resp, nil
		}), gate)
		tr.cfg.MaxStream = map[string]time.Duration{"bulk": 5500 * time.Millisecond}
		start := time.Now()
		ctx, _ := callCtx(t.Context())
		resp, err := tr.RoundTrip(post(ctx, streamPath, question))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		var bound *StreamTimeError
		if !errors.As(err, &bound) || bound.Class != "bulk" {
			t.Fatalf("error %v", err)
		}
		if took := time.Since(start); took != 5500*time.Millisecond {
			t.Errorf("ended after %s", took)
		}
		resp.Body.Close()
		synctest.Wait()
		if used := gate.once(t).Used; used[limiter.OutputTokens] < 7 {
			t.Errorf("used %v; want what came", used)
		}
		if lease := gate.acquired[0].Lease; lease != 35500*time.Millisecond {
			t.Errorf("lease %s; want the bound and a reserve", lease)
		}
	})
}
