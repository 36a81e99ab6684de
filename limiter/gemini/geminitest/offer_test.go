package geminitest_test

import (
	"testing"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

// TestOffer: a call of which only the amounts are known meets the same quotas, faults,
// money and latency as one over HTTP.
func TestOffer(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	now := start
	s := geminitest.MustNew(geminitest.Config{
		Models:  []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 5, InputTPM: 1000}, Price: geminitest.Price{Input: 1, Output: 1}}},
		Latency: geminitest.Latency{Base: time.Second, PerToken: time.Millisecond},
		Faults:  []geminitest.Fault{{Kind: geminitest.Fault503, After: time.Hour, Times: 1}, {Kind: geminitest.FaultHang, After: time.Hour, Times: 1}, {Kind: geminitest.FaultSlow, After: time.Hour, Times: 1}},
		Now:     func() time.Time { return now },
	})
	offer := func(tokens int64) geminitest.Met {
		return s.Offer(geminitest.Offered{Model: model, InputTokens: tokens, OutputTokens: 500})
	}
	good := offer(600)
	if !good.Good || good.Took != 1500*time.Millisecond {
		t.Errorf("a good call: %+v", good)
	}
	if m := offer(500); m.Good || m.Status != 429 || m.Reason != geminitest.ReasonInputTPM || len(m.Body) == 0 || m.Took != 0 {
		t.Errorf("over the tokens: %+v", m)
	}
	for range 4 {
		offer(10).End()
	}
	if m := offer(10); m.Reason != geminitest.ReasonRPM {
		t.Errorf("over the requests: %+v", m)
	}
	if running, _ := s.InFlight(model); running != 1 {
		t.Errorf("%d calls run; want the first", running)
	}
	good.End()
	good.End()
	if running, _ := s.InFlight(model); running != 0 || s.Spent() != 5*500+600+40 {
		t.Errorf("at the end %d calls run and %d micro-dollars are spent", running, s.Spent())
	}
	now = start.Add(time.Hour)
	if m := offer(10); m.Good || m.Status != 503 {
		t.Errorf("a 503: %+v", m)
	}
	if m := offer(10); m.Good || !m.Hangs || m.Status != 0 {
		t.Errorf("a call that hangs: %+v", m)
	}
	if m := offer(10); !m.Good || m.Took != 15*time.Second {
		t.Errorf("a slow one: %+v", m)
	}
	if most := s.MaxInWindow(model, geminitest.Requests, time.Minute); most != 5 {
		t.Errorf("%d in a window; want 5", most)
	}
}
