package gemini_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

func (c clocked) Trip(ctx context.Context, x limiter.Trip) (limiter.BreakerState, error) {
	c.SetNow(time.Now())
	return c.Model.Trip(ctx, x)
}

func (c clocked) Probed(ctx context.Context, p *limiter.Permit) error {
	c.SetNow(time.Now())
	return c.Model.Probed(ctx, p)
}

// lineCount counts log lines by the minute.
type lineCount struct {
	mu    sync.Mutex
	lines map[int64]int
}

func (l *lineCount) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *lineCount) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lineCount) WithGroup(string) slog.Handler                    { return l }
func (l *lineCount) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[int64]int{}
	}
	l.lines[r.Time.Unix()/60]++
	return nil
}

// most gives all lines and the most of a minute.
func (l *lineCount) most() (all, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.lines {
		all, most = all+n, max(most, n)
	}
	return all, most
}

// exhausted is a fleet at a project whose monthly cap was reached.
type exhausted struct {
	transports []*gemini.Transport
	sim        *geminitest.Server
	proof      atomic.Bool  // an answer said that the cap is reached
	after      atomic.Int64 // calls that went out after that
	logs       []*lineCount
	slow       atomic.Int64 // refusals that were not given at once
	refused    atomic.Int64
	served     atomic.Int64
}

// RoundTrip counts what goes out.
func (e *exhausted) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.proof.Load() {
		e.after.Add(1)
	}
	resp, err := e.sim.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		e.proof.Store(true)
	}
	return resp, err
}

func newExhausted(t *testing.T, processes int) *exhausted {
	t.Helper()
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: wholeModel})
	if err != nil {
		t.Fatal(err)
	}
	scope := limiter.Scope{Provider: "gemini", Project: "proj"}
	model := limiter.NewModel(scope, time.Now())
	if err = model.Configure(t.Context(), limiter.Config{
		Scope:   scope,
		Lanes:   []limiter.LaneConfig{{Lane: lanes.Lanes()[0], Limits: limiter.Limits{RPM: 60_000}, Lend: "now"}},
		Classes: []limiter.Class{{Name: "interactive"}},
	}); err != nil {
		t.Fatal(err)
	}
	e := &exhausted{sim: geminitest.MustNew(geminitest.Config{
		Models:  []geminitest.Model{{Name: wholeModel, Price: geminitest.Price{Input: 1, Output: 1}}},
		Spend:   geminitest.Spend{Month: 0.01},
		Latency: geminitest.Latency{Base: 2 * time.Second}, KeepCalls: 1000,
	})}
	for range processes {
		log := &lineCount{}
		tr, err := gemini.NewTransport(gemini.TransportConfig{Base: e, Gate: clocked{model}, Lanes: lanes, APIKey: "key", Logger: slog.New(log)})
		if err != nil {
			t.Fatal(err)
		}
		e.logs, e.transports = append(e.logs, log), append(e.transports, tr)
	}
	return e
}

const exhaustedBody = `{"contents":[{"parts":[{"text":"hello"}]}]}`

func (e *exhausted) call(ctx context.Context, n int) {
	ctx, _ = gemini.Observe(gemini.WithCaller(ctx, gemini.Caller{Class: "interactive", Feature: "chat"}))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gemini.DefaultBaseURL+"/v1beta/models/"+wholeModel+":generateContent", bytes.NewReader([]byte(exhaustedBody)))
	if err != nil {
		panic(err)
	}
	start := time.Now()
	resp, err := e.transports[n%len(e.transports)].RoundTrip(req)
	var denied *limiter.Denied
	switch {
	case errors.As(err, &denied):
		e.refused.Add(1)
		if time.Since(start) > 0 {
			e.slow.Add(1)
		}
	case err == nil:
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			e.served.Add(1)
		}
	}
}

// idle lets time go by on the bubble's clock.
func idle(d time.Duration) { <-time.After(d) }

// retryEverything simulates callers who try each request up to seven times, with
// pauses of 1, 2, 4, … 32 s, while every call is refused, and counts their calls.
func retryEverything(perMinute int, long time.Duration) (calls int) {
	gap := time.Minute / time.Duration(perMinute)
	for begin := time.Duration(0); begin < long; begin += gap {
		at, pause := begin, time.Second
		for range 7 {
			if at >= long {
				break
			}
			calls++
			at, pause = at+pause, 2*pause
		}
	}
	return calls
}

// TestExhaustedProject: three hours of 600 requests a minute by a fleet, after the
// monthly cap is hit. Few calls go out to see whether it still is, everybody else is
// told at once, and each process says so once a minute.
func TestExhaustedProject(t *testing.T) {
	t.Parallel()
	perMinute, long, processes := 600, 3*time.Hour, 4
	if racing {
		long = time.Hour
	}
	minutes := int(long / time.Minute)
	synctest.Test(t, func(t *testing.T) {
		idle(5 * 24 * time.Hour) // the month has long to go
		e := newExhausted(t, processes)
		gap := time.Minute / time.Duration(perMinute)
		begin := time.Now()
		for n := 0; !e.proof.Load(); n++ {
			if time.Since(begin) > time.Hour {
				t.Fatal("the cap is never reached")
			}
			go e.call(t.Context(), n)
			idle(gap)
		}
		before, hit := e.served.Load(), time.Now()
		for n := 0; time.Since(hit) < long; n++ {
			go e.call(t.Context(), n)
			idle(gap)
		}
		idle(10 * time.Second)
		lines, most := 0, 0
		for _, l := range e.logs {
			n, m := l.most()
			lines, most = lines+n, max(most, m)
		}
		naive := retryEverything(perMinute, long)
		t.Logf("calls in %s after the monthly cap was hit, %d requests a minute, %d processes", long, perMinute, processes)
		t.Logf("  %-44s %8d", "retry everything, seven attempts", naive)
		t.Logf("  %-44s %8d", "nightshift, after the first proof", e.after.Load())
		t.Logf("  %-44s %8d", "refused here, at once", e.refused.Load())
		t.Logf("  %-44s %8d, at most %d a minute and process", "log lines", lines, most)
		if e.after.Load() > 20 || e.after.Load() == 0 {
			t.Errorf("%d calls after the first proof, want 1 to 20", e.after.Load())
		}
		if naive < 500_000*minutes/180 {
			t.Errorf("the comparison makes %d calls", naive)
		}
		if e.refused.Load() < int64(perMinute*(minutes-10)) || e.slow.Load() > 0 {
			t.Errorf("%d refused, %d of them late", e.refused.Load(), e.slow.Load())
		}
		if most != 1 || lines < (minutes-10)*processes || lines > (minutes+2)*processes {
			t.Errorf("%d log lines, up to %d a minute; want one a minute and process", lines, most)
		}
		if before == 0 {
			t.Error("nothing was served before the cap")
		}
	})
}
