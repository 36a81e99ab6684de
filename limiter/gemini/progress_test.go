package gemini

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

// slow is a stream that has one more chunk every so often. Each has 20 tokens.
type slow struct {
	chunks int
	every  time.Duration
	sent   int
	rest   []byte
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.sent == s.chunks {
			return 0, io.EOF
		}
		pass(s.every)
		s.sent++
		finish := ""
		if s.sent == s.chunks {
			finish = "STOP"
		}
		s.rest = []byte(chunk("words ", finish, 5, 20*s.sent))
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *slow) Close() error { return nil }

// taught knows that the calls of a feature have some 100 tokens of output.
func taught(t *testing.T, e *Estimator) *Estimator {
	t.Helper()
	e.Learning = NewLearning(nil, limiter.Scope{}, LearningOptions{})
	ask := Ask{Method: "streamGenerateContent", Model: Model{Name: "gemini-2.5-flash", MaxOutput: 65_536}, Lane: flashLane, Class: "bulk", Feature: "test", Body: []byte(question)}
	for range 60 {
		got, err := e.Ask(ask)
		if err != nil {
			t.Fatal(err)
		}
		e.Learn(ask, got, Usage{Prompt: 5, Candidates: 100}, true)
	}
	return e
}

func slowStream(t *testing.T, gate Gate, s *slow, during func(*slow)) {
	t.Helper()
	tr := newTestTransport(t, sender(func(*http.Request) (*http.Response, error) {
		resp := reply(200, "text/event-stream", "")
		resp.Body = s
		return resp, nil
	}), nil, func(c *TransportConfig) { c.Gate, c.Estimator = gate, taught(t, &Estimator{}) })
	ctx, obs := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, streamPath, question))
	if err != nil {
		t.Fatal(err)
	}
	if n := obs.Estimate[limiter.OutputTokens]; n < 100 || n > 108 {
		t.Fatalf("%d tokens of output are estimated, want what was learned", n)
	}
	for buf := make([]byte, 4096); err == nil; {
		_, err = resp.Body.Read(buf)
		synctest.Wait()
		during(s)
	}
	resp.Body.Close()
}

// timedGate is the limiter's rules on the clock of the test's bubble.
type timedGate struct {
	*limiter.Model
	mu       sync.Mutex
	partials int // guarded by mu
}

func (g *timedGate) Settle(ctx context.Context, s limiter.Settlement) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.Partial {
		g.partials++
	}
	g.SetNow(time.Now())
	return g.Model.Settle(ctx, s)
}

func timed(t *testing.T) *timedGate {
	t.Helper()
	g := &timedGate{Model: limiter.NewModel(projScope, time.Now())}
	err := g.Configure(t.Context(), limiter.Config{
		Scope: projScope, Classes: []limiter.Class{{Name: "bulk"}},
		Lanes: []limiter.LaneConfig{{Lane: flashLane, Limits: limiter.Limits{OutputTPM: 100_000}, Lend: "now"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// usedOutput is what the limiter thinks was used of the minute's output.
func (g *timedGate) usedOutput(t *testing.T) (used int64) {
	t.Helper()
	g.SetNow(time.Now())
	s, err := g.State(t.Context(), flashLane)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range s.Limits {
		if l.Unit == limiter.OutputTokens {
			used = l.Used
		}
	}
	return used
}

// TestLongStreamIsChargedAsItGrows: an answer forty times as long as its estimate
// is never more than some seconds' worth ahead of its charge, with a call to the
// limiter every two seconds at most, and its end corrects the rest.
func TestLongStreamIsChargedAsItGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := timed(t)
		slowStream(t, gate, &slow{chunks: 200, every: 250 * time.Millisecond}, func(s *slow) {
			taken, charged := int64(20*s.sent), gate.usedOutput(t)
			if s.sent < s.chunks && (charged < taken-180 || charged > max(108, taken+taken/4)) {
				t.Fatalf("after %d chunks %d tokens are charged for %d", s.sent, charged, taken)
			}
		})
		if got := gate.usedOutput(t); got != 4000 || gate.partials < 10 || gate.partials > 25 {
			t.Errorf("%d tokens charged in the end, want 4000; %d raises in 50 s", got, gate.partials)
		}
	})
}

// TestShortStreamCostsNoFurtherCall, though it is longer than was estimated.
func TestShortStreamCostsNoFurtherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := timed(t)
		slowStream(t, gate, &slow{chunks: 13, every: 250 * time.Millisecond}, func(*slow) {})
		if got := gate.usedOutput(t); got != 260 || gate.partials > 0 {
			t.Errorf("%d tokens charged in the end, %d raises on the way", got, gate.partials)
		}
	})
}

// TestRaiseThatFails is tried again, and a burst does not wait for its turn.
func TestRaiseThatFails(t *testing.T) {
	now, p := time.Unix(1000, 0), progress{}
	p.charged[limiter.OutputTokens] = 100
	so := func(out int64, after time.Duration) (int64, bool) {
		now = now.Add(after)
		to, ok := p.raise(Usage{Candidates: out}, 5000, now)
		if ok && to[limiter.TotalTokens] != to[limiter.OutputTokens] {
			t.Errorf("%v", to)
		}
		return to[limiter.OutputTokens], ok
	}
	steps := []struct {
		out   int64
		after time.Duration
		want  int64 // 0 raises nothing
		err   error
	}{
		{100, time.Second, 0, nil},                      // as estimated
		{101, 10 * time.Second, 0, nil},                 // over since now
		{120, 1900 * time.Millisecond, 0, nil},          //
		{160, 100 * time.Millisecond, 180, errNoAnswer}, // two seconds: ahead by an eighth, but the gate is away
		{200, time.Second, 0, nil},                      //
		{240, 2 * time.Second, 270, nil},                //
		{4400, 10 * time.Millisecond, 4950, nil},        // a burst
		{4960, 10 * time.Millisecond, 0, nil},           //
		{4990, 2 * time.Second, 5000, nil},              // no more than it may have
		{5100, time.Second, 0, nil},                     //
		{5200, 2 * time.Second, 5200, nil},              // but it had
		{5200, time.Hour, 0, nil},                       //
	}
	for i, s := range steps {
		got, ok := so(s.out, s.after)
		if ok != (s.want > 0) || got != s.want {
			t.Errorf("step %d: %d, want %d", i, got, s.want)
		}
		if ok {
			to := p.charged
			to[limiter.OutputTokens] = got
			p.done(to, s.err)
		}
	}
}
