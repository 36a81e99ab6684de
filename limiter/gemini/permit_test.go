package gemini

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter"
)

func busy(after time.Duration) *limiter.Denied {
	return &limiter.Denied{Reason: limiter.ReasonQuota, Limiter: "rpm", RetryAfterMS: after.Milliseconds(), Decision: limiter.RejectedLocally}
}

// refuseFirst refuses the first n requests.
func refuseFirst(n int, err error) func(int, limiter.Request) error {
	return func(i int, _ limiter.Request) error {
		if i <= n {
			return err
		}
		return nil
	}
}

func TestWaitsInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{refuse: refuseFirst(3, busy(2*time.Second))}
		tr := newTestTransport(t, replies(200, "application/json", good), gate, func(c *TransportConfig) {
			c.MaxWait = map[string]time.Duration{"bulk": 10 * time.Second}
		})
		ctx, obs := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
		if obs.Waited != 6*time.Second || len(gate.acquired) != 4 {
			t.Errorf("waited %s, asked %d times", obs.Waited, len(gate.acquired))
		}
		for _, r := range gate.acquired {
			if r.ID != gate.acquired[0].ID {
				t.Error("another id: an answer that was lost would leave a permit behind")
			}
		}
		gate.once(t)
	})
}

func TestWaitsNoLongerThanItMay(t *testing.T) {
	for name, c := range map[string]struct {
		err    *limiter.Denied
		caller time.Duration
		asks   int
		waited time.Duration
	}{
		"the class's time is over": {busy(4 * time.Second), 0, 3, 8 * time.Second},
		"the caller's own":         {busy(4 * time.Second), 5 * time.Second, 2, 4 * time.Second},
		"longer than it may":       {busy(11 * time.Second), 0, 1, 0},
		"refused for good":         {&limiter.Denied{Reason: limiter.ReasonTooLarge, Permanent: true}, 0, 1, 0},
		"no slot":                  {&limiter.Denied{Reason: limiter.ReasonSlots, RetryAfterMS: 10}, 0, 1, 0},
		"Redis is away":            {&limiter.Denied{Reason: limiter.ReasonUnavailable, RetryAfterMS: 10}, 0, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			gate, hits := &fakeGate{refuse: refuseFirst(1000, c.err)}, 0
			tr := newTestTransport(t, counter(&hits, replies(200, "application/json", good)), gate, func(cfg *TransportConfig) {
				cfg.MaxWait = map[string]time.Duration{"bulk": 10 * time.Second}
			})
			ctx, obs := Observe(WithCaller(t.Context(), Caller{Class: "bulk", Feature: "f", MaxWait: c.caller}))
			_, err := tr.RoundTrip(post(ctx, generate, question))
			var denied *limiter.Denied
			if !errors.As(err, &denied) || denied != obs.Denied || denied.Reason != c.err.Reason {
				t.Errorf("%s: %v", name, err)
			}
			if len(gate.acquired) != c.asks || obs.Waited != c.waited || hits != 0 {
				t.Errorf("%s: asked %d times, waited %s, %d hits; want %d, %s, 0", name, len(gate.acquired), obs.Waited, hits, c.asks, c.waited)
			}
			synctest.Wait()
		})
	}
}

func TestRetryAtOnceDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{refuse: refuseFirst(1_000_000, busy(0))}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		ctx, _ := Observe(WithCaller(t.Context(), Caller{Class: "bulk", Feature: "f", MaxWait: time.Second}))
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil {
			t.Fatal("no refusal")
		}
		if len(gate.acquired) > 51 {
			t.Errorf("asked %d times in a second", len(gate.acquired))
		}
	})
}

// TestDeadline: Gemini refuses what has less than ten seconds, and the SDK
// wrote the header before the wait.
func TestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		deadline time.Duration
		refusals int
		sdk      string // x-server-timeout as the SDK wrote it
		header   string // as it goes out; "" for no call
		settled  limiter.Outcome
	}{
		"enough":             {60 * time.Second, 0, "60", "60", limiter.Settled},
		"after a wait":       {60 * time.Second, 5, "60", "35", limiter.Settled},
		"a shorter own":      {60 * time.Second, 0, "20", "20", limiter.Settled},
		"no deadline":        {0, 1, "", "", limiter.Settled},
		"only the header":    {0, 0, "5", "10", limiter.Settled},
		"too little at once": {9 * time.Second, 0, "9", "", ""},
		"too little later":   {14 * time.Second, 1, "14", "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			gate := &fakeGate{refuse: refuseFirst(c.refusals, busy(5*time.Second))}
			var header []string
			tr := newTestTransport(t, sender(func(r *http.Request) (*http.Response, error) {
				header = append(header, r.Header.Get("X-Server-Timeout"))
				return reply(200, "application/json", good), nil
			}), gate)
			ctx := t.Context()
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			ctx, obs := Observe(WithCaller(ctx, Caller{Class: "bulk", Feature: "f", MaxWait: time.Minute}))
			req := post(ctx, generate, question)
			if c.sdk != "" {
				req.Header.Set("X-Server-Timeout", c.sdk)
			}
			_, err := tr.RoundTrip(req)
			if req.Header.Get("X-Server-Timeout") != c.sdk {
				t.Errorf("%s: the caller's request was changed", name)
			}
			if c.settled == "" {
				if err == nil || len(header) != 0 || len(gate.settled) != 0 || obs.Denied == nil || obs.Denied.RetryAfterMS <= 0 {
					t.Errorf("%s: %v, sent %q, settled %v", name, err, header, gate.settled)
				}
				return
			}
			if err != nil || len(header) != 1 || header[0] != c.header {
				t.Errorf("%s: %v, sent %q, want %q", name, err, header, c.header)
			}
			if s := gate.once(t); s.Outcome != c.settled {
				t.Errorf("%s: %v", name, s)
			}
		})
	}
}

// TestPermitThatCameTooLate is given back whole.
func TestPermitThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{refuse: func(int, limiter.Request) error {
			pass(6 * time.Second) // a slow answer, on the test's own clock
			return nil
		}}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		ctx, obs := callCtx(ctx)
		_, err := tr.RoundTrip(post(ctx, generate, question))
		if err == nil || obs.Denied == nil || obs.Denied.Reason != limiter.ReasonDeadline {
			t.Errorf("%v", err)
		}
		if s := gate.once(t); s.Outcome != limiter.Released {
			t.Errorf("%+v", s)
		}
	})
}

// TestAnswerThatGotLost: a permit may have been given although none arrived.
func TestAnswerThatGotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{refuse: refuseFirst(1, errors.New("connection reset"))}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err == nil {
			t.Fatal("no error")
		}
		synctest.Wait()
		if s := gate.once(t); s.Outcome != limiter.Released || s.ID != gate.acquired[0].ID {
			t.Errorf("%+v", s)
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{refuse: refuseFirst(1000, busy(5*time.Second))}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		ctx, cancel := context.WithCancel(t.Context())
		ctx, _ = Observe(WithCaller(ctx, Caller{Class: "bulk", Feature: "f", MaxWait: time.Hour}))
		time.AfterFunc(7*time.Second, cancel)
		if _, err := tr.RoundTrip(post(ctx, generate, question)); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if len(gate.acquired) != 2 || len(gate.settled) != 0 {
			t.Errorf("asked %d times, settled %d", len(gate.acquired), len(gate.settled))
		}
	})
}

func TestContextWindow(t *testing.T) {
	gate, hits := &fakeGate{}, 0
	tr := newTestTransport(t, counter(&hits, replies(200, "application/json", good)), gate)
	ctx, obs := callCtx(t.Context())
	long := make([]byte, 0, 6<<20)
	for range 1_200_000 {
		long = append(long, "word "...)
	}
	_, err := tr.RoundTrip(post(ctx, generate, `{"contents":[{"parts":[{"text":"`+string(long)+`"}]}]}`))
	var denied *limiter.Denied
	if !errors.As(err, &denied) || denied.Reason != limiter.ReasonTooLarge || !denied.Permanent || denied.Limit != DefaultContext {
		t.Fatalf("%v", err)
	}
	if hits != 0 || len(gate.acquired) != 0 || obs.Denied != denied {
		t.Errorf("%d hits, %d permits", hits, len(gate.acquired))
	}
}

func TestCountTokensHasItsOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, hits := &fakeGate{}, 0
		tr := newTestTransport(t, counter(&hits, replies(200, "application/json", `{"totalTokens":5}`)), gate, func(c *TransportConfig) { c.Bounds.CountPerMin = 3 })
		ask := func() (*Observation, error) {
			ctx, obs := callCtx(t.Context())
			_, err := tr.RoundTrip(post(ctx, "/v1beta/models/gemini-2.5-flash:countTokens", question))
			return obs, err
		}
		for range 3 {
			if obs, err := ask(); err != nil || obs.Verdict != nil {
				t.Fatal(err, obs.Verdict)
			}
			pass(10 * time.Second)
		}
		_, err := ask()
		var denied *limiter.Denied
		if !errors.As(err, &denied) || denied.Limiter != "count_tokens_rpm" || denied.RetryAfter() != 30*time.Second {
			t.Fatalf("%+v", err)
		}
		pass(30 * time.Second)
		if _, err := ask(); err != nil || hits != 4 || len(gate.acquired) != 0 {
			t.Errorf("%v, %d hits, %d permits", err, hits, len(gate.acquired))
		}
	})
}

func TestLeaseFollowsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &fakeGate{}
		tr := newTestTransport(t, replies(200, "application/json", good), gate)
		for _, d := range []time.Duration{0, 90 * time.Second} {
			ctx := t.Context()
			if d > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, d)
				defer cancel()
			}
			ctx, _ = callCtx(ctx)
			if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
				t.Fatal(err)
			}
		}
		if a := gate.acquired; a[0].Lease != 0 || a[1].Lease != 120*time.Second {
			t.Errorf("%s, %s", strconv.Quote(a[0].Lease.String()), a[1].Lease)
		}
	})
}
