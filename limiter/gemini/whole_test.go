package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

// clocked is limiter.Model on the clock of the test's bubble.
type clocked struct{ *limiter.Model }

func (c clocked) Acquire(ctx context.Context, r limiter.Request) (*limiter.Permit, error) {
	c.SetNow(time.Now())
	return c.Model.Acquire(ctx, r)
}

func (c clocked) Settle(ctx context.Context, s limiter.Settlement) error {
	c.SetNow(time.Now())
	return c.Model.Settle(ctx, s)
}

func (c clocked) Cool(ctx context.Context, l limiter.Lane, d time.Duration, r limiter.Reason, detail string) error {
	c.SetNow(time.Now())
	return c.Model.Cool(ctx, l, d, r, detail)
}

const wholeModel = "gemini-3.8-flash"

// whole is the SDK over the transport, the limiter's own rules and a Gemini
// that enforces the same limits.
func whole(t *testing.T, limits limiter.Limits, server geminitest.Limits) (*genai.Client, *geminitest.Server) {
	t.Helper()
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: wholeModel})
	if err != nil {
		t.Fatal(err)
	}
	model := limiter.NewModel(limiter.Scope{Provider: "gemini", Project: "proj"}, time.Now())
	err = model.Configure(t.Context(), limiter.Config{
		Scope:   limiter.Scope{Provider: "gemini", Project: "proj"},
		Lanes:   []limiter.LaneConfig{{Lane: lanes.Lanes()[0], Limits: limits, Lend: "now"}},
		Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sim := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: wholeModel, Limits: server}}, Keys: []string{"the-key-of-the-project"}})
	tr, err := gemini.NewTransport(gemini.TransportConfig{
		Base: sim, Gate: clocked{model}, Lanes: lanes, APIKey: "the-key-of-the-project",
		MaxWait: map[string]time.Duration{"bulk": time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := gemini.NewClient(t.Context(), tr, "")
	if err != nil {
		t.Fatal(err)
	}
	return client, sim
}

// TestWholeNeverOver sends more than the provider would take at once: all get
// through, none is refused there, and no minute holds more than the limit.
func TestWholeNeverOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := whole(t, limiter.Limits{RPM: 20}, geminitest.Limits{RPM: 20})
		var wg sync.WaitGroup
		for i := range 70 {
			wg.Go(func() {
				ctx, obs := gemini.Observe(gemini.WithCaller(t.Context(), gemini.Caller{Class: "bulk", Feature: "test"}))
				_, err := client.Models.GenerateContent(ctx, wholeModel, genai.Text(fmt.Sprintf("id: row-%d\nDescribe a desk.", i)), gemini.OneRequest(nil))
				if err != nil || obs.Verdict != nil || !obs.HasUsage || obs.Sent != 1 || !obs.Priced {
					t.Errorf("row %d: %v, %+v", i, err, obs.Verdict)
				}
				if est, real := obs.Estimate[limiter.InputTokens], obs.Usage.Input(); est < real || est > 3*real+20 {
					t.Errorf("row %d: %d estimated, %d used", i, est, real)
				}
			})
		}
		wg.Wait()
		if calls := sim.Calls(); len(calls) != 70 {
			t.Errorf("%d calls for 70 rows", len(calls))
		}
		if most := sim.MaxSent(wholeModel, geminitest.Requests, time.Minute); most > 20 {
			t.Errorf("%d requests in a minute", most)
		}
	})
}

// TestWholeRefusedThere: the provider takes less than is configured, as after a
// change of tier. The lane rests as long as the provider says, so each minute
// costs few refused calls, and all rows are done in the end.
func TestWholeRefusedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := whole(t, limiter.Limits{RPM: 60}, geminitest.Limits{RPM: 10})
		done, refused := 0, 0
		for done < 25 {
			ctx, obs := gemini.Observe(gemini.WithCaller(t.Context(), gemini.Caller{Class: "bulk", Feature: "test"}))
			_, err := client.Models.GenerateContent(ctx, wholeModel, genai.Text("Describe a desk."), gemini.OneRequest(nil))
			var api genai.APIError
			switch {
			case err == nil:
				done++
			case errors.As(err, &api) && api.Code == 429 && obs.Verdict.Kind == gemini.Wait && obs.Verdict.Reason == "rpm" && obs.Verdict.Limit == 10:
				refused++
			default:
				t.Fatalf("%v, %+v", err, obs.Verdict)
			}
		}
		if refused == 0 || refused > 6 || len(sim.Calls()) != done+refused {
			t.Errorf("%d refused, %d calls", refused, len(sim.Calls()))
		}
	})
}

// TestWholeStream reads a stream of the simulated API to its end and breaks
// another off.
func TestWholeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := whole(t, limiter.Limits{RPM: 20, Concurrency: 1}, geminitest.Limits{})
		for i := range 4 {
			ctx, obs := gemini.Observe(gemini.WithCaller(t.Context(), gemini.Caller{Class: "bulk", Feature: "test"}))
			for _, err := range client.Models.GenerateContentStream(ctx, wholeModel, genai.Text("Describe a desk in a hundred words."), gemini.OneRequest(nil)) {
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					break // gives its slot back: the next call waits for it
				}
			}
			if !obs.HasUsage || i != 1 && (obs.Verdict != nil || obs.Finish != "STOP") {
				t.Errorf("stream %d: %+v, finish %q", i, obs.Verdict, obs.Finish)
			}
		}
		if len(sim.Calls()) != 4 {
			t.Errorf("%d calls", len(sim.Calls()))
		}
	})
}
