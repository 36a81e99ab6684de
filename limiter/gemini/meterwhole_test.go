package gemini

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// TestMeterBesideTheProvider runs two classes through the real limiter at a
// Gemini that others use as well: what is read of the meter agrees with the
// provider's own account, and the refusals are kept with the provider's limit.
func TestMeterBesideTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		sim := geminitest.MustNew(geminitest.Config{
			Models:  []geminitest.Model{{Name: "gemini-2.5-flash", Limits: geminitest.Limits{RPM: 60}}},
			Keys:    []string{testKey, "another"},
			Latency: geminitest.Latency{Base: 2 * time.Second},
		})
		lim, meter, tr := meteredFleet(t, sim)
		others := startOthers(t, sim, 90) // 40 a minute, past the gate
		var wg sync.WaitGroup
		for _, class := range []string{"interactive", "bulk"} {
			wg.Go(func() {
				for i := range 90 {
					path := generate
					if i%3 == 0 {
						path = streamPath
					}
					sendAs(t, tr, class, path)
				}
			})
		}
		wg.Wait()
		others.Wait()
		if err := meter.Close(); err != nil {
			t.Fatal(err)
		}
		checkAccount(t, sim, sum(readStep(t, meter.rdb, projScope, StepMinute, begin, time.Now().Add(time.Minute))))
		checkEvidence(t, meter, begin)
		if s, err := lim.State(t.Context(), flashLane); err != nil || s.InFlight != 0 {
			t.Errorf("%d in flight, %v", s.InFlight, err)
		}
	})
}

func meteredFleet(t *testing.T, base http.RoundTripper) (*limiter.Redis, *Meter, *Transport) {
	t.Helper()
	rdb := pipeClient(t, miniredis.NewMiniRedis())
	lim := limiter.NewRedis(rdb, projScope, limiter.RedisOptions{Now: time.Now})
	err := lim.Configure(t.Context(), limiter.Config{
		Scope:   projScope,
		Lanes:   []limiter.LaneConfig{{Lane: flashLane, Limits: limiter.Limits{RPM: 60}, Lend: "now"}},
		Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true, Smooth: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	meter := NewMeter(rdb, projScope, MeterOptions{redisNow: time.Now})
	tr := newTestTransport(t, base, &fakeGate{}, func(c *TransportConfig) {
		c.Gate, c.Records, c.Cooler = lim, meter, lim
	})
	return lim, meter, tr
}

// startOthers makes calls that the gate does not know of, one every 1.5 s.
func startOthers(t *testing.T, sim *geminitest.Server, n int) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			wg.Go(func() {
				req := post(t.Context(), generate, question)
				req.Header.Set("X-Goog-Api-Key", "another")
				if resp, err := sim.RoundTrip(req); err == nil {
					resp.Body.Close()
				}
			})
			pass(1500 * time.Millisecond)
		}
	})
	return &wg
}

// sendAs makes a call and, refused or not, comes back after a second.
func sendAs(t *testing.T, tr *Transport, class, path string) {
	ctx := WithCaller(t.Context(), Caller{Class: class, Feature: class + "-feature"})
	if resp, err := tr.RoundTrip(post(ctx, path, question)); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	pass(time.Second)
}

// checkAccount compares with what the provider wrote down about our key.
func checkAccount(t *testing.T, sim *geminitest.Server, all UsageSample) {
	t.Helper()
	var sent, refused, input, output int64
	for _, c := range sim.Calls() {
		if c.Key != geminitest.KeyHash(testKey) {
			continue
		}
		sent++
		if c.Status == 429 {
			refused++
		} else {
			input, output = input+c.PromptTokens, output+c.OutputTokens+c.ThoughtTokens
		}
	}
	if all.Sent != sent || all.Provider429 != refused || all.Good != sent-refused || all.Calls != 180 || all.Refused != 180-sent || refused == 0 {
		t.Errorf("counted %d calls, %d sent, %d good, %d refused there, %d here; the provider had %d and refused %d",
			all.Calls, all.Sent, all.Good, all.Provider429, all.Refused, sent, refused)
	}
	if all.OutputTokens != output || all.InputTokens < input || all.Requests != sent {
		t.Errorf("counted %d requests, %d tokens in and %d out; the provider had %d, %d and %d", all.Requests, all.InputTokens, all.OutputTokens, sent, input, output)
	}
	if all.Latency.N()+all.FirstToken.N() != all.Good || all.Latency.Quantile(0.5) < 1800*time.Millisecond {
		t.Errorf("%d latencies and %d first tokens of %d good calls, p50 %s", all.Latency.N(), all.FirstToken.N(), all.Good, all.Latency.Quantile(0.5))
	}
}

func checkEvidence(t *testing.T, m *Meter, begin time.Time) {
	t.Helper()
	got, err := ReadRejections(t.Context(), m.rdb, projScope, begin)
	if err != nil || len(got) == 0 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, r := range got {
		if r.Limit != "rpm" || r.QuotaValue != 60 || r.Lane != flashLane.String() || r.Trace == "" || r.Feature != r.Class+"-feature" {
			t.Errorf("%+v", r)
		}
	}
}
