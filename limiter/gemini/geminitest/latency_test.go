package geminitest_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{
			Models:  []geminitest.Model{{Name: model}},
			Latency: geminitest.Latency{Base: time.Second, PerToken: 10 * time.Millisecond},
			Faults:  []geminitest.Fault{{Kind: geminitest.Fault503, First: 2, Last: 2}, {Kind: geminitest.FaultSlow, First: 3, Last: 3}},
		})
		took := func() time.Duration {
			start := time.Now()
			generate(t.Context(), s, "hello")
			return time.Since(start)
		}
		normal := took()
		want := time.Second + time.Duration(s.Calls()[0].OutputTokens)*10*time.Millisecond
		if normal != want || s.Calls()[0].Took != want {
			t.Errorf("took %s, account %s, want %s", normal, s.Calls()[0].Took, want)
		}
		if d := took(); d != 0 {
			t.Errorf("a 503 took %s", d)
		}
		if d := took(); d != 10*normal {
			t.Errorf("slow took %s, want ten times %s", d, normal)
		}
		s.SetSlow(3)
		if d := took(); d != 3*normal {
			t.Errorf("SetSlow(3) took %s, want three times %s", d, normal)
		}
	})
}

func TestLatencyVaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Base: time.Second, Sigma: 0.3, SlowShare: 0.1}})
		for range 1000 {
			generate(t.Context(), s, "hello")
		}
		var all []float64
		for _, c := range s.Calls() {
			all = append(all, c.Took.Seconds())
		}
		slices.Sort(all)
		if median, p99 := all[500], all[990]; math.Abs(median-1) > 0.1 || p99 < 6 {
			t.Errorf("median %.2f s, 99th percentile %.2f s", median, p99)
		}
	})
}

// The first chunk comes before the answer is complete, and the last when it is.
func TestStreamTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{
			Models:  []geminitest.Model{{Name: model, AnswerTokens: 160}},
			Latency: geminitest.Latency{Base: time.Second, PerToken: 10 * time.Millisecond},
		})
		start := time.Now()
		r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/v1beta/models/"+model+":streamGenerateContent?alt=sse&key=k", strings.NewReader(hello))
		resp, err := s.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		first := time.Since(start)
		if now, _ := s.InFlight(model); now != 1 {
			t.Errorf("%d in flight in the middle of a stream", now)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
		c := s.Calls()[0]
		whole := time.Second + time.Duration(c.OutputTokens)*10*time.Millisecond
		if first > 1300*time.Millisecond || first < time.Second {
			t.Errorf("first chunk after %s", first)
		}
		if c.Took != whole || time.Since(start) != whole {
			t.Errorf("took %s, want %s", c.Took, whole)
		}
	})
}

func TestClientTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{
			Models:  []geminitest.Model{{Name: model, Price: geminitest.Price{Output: 1}}},
			Latency: geminitest.Latency{Base: 30 * time.Second},
		})
		start := time.Now()
		a := post(t.Context(), s, model+":generateContent", hello, "X-Server-Timeout", "12")
		if a.status != 504 || time.Since(start) != 12*time.Second {
			t.Errorf("after %s: %d %s", time.Since(start), a.status, a.body)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if a := generate(ctx, s, "hello"); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("got %d %v", a.status, a.err)
		}
		c := s.Calls()[1]
		if c.Status != 499 || c.MicroUSD == 0 || c.Running {
			t.Errorf("a call whose client left is billed all the same: %+v", c)
		}
		if now, _ := s.InFlight(model); now != 0 {
			t.Errorf("%d in flight", now)
		}
	})
}

func TestClosedStreamEnds(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, AnswerTokens: 100}}})
	r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://x/v1beta/models/"+model+":streamGenerateContent?alt=sse&key=k", strings.NewReader(hello))
	resp, err := s.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resp.Body.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if c := s.Calls()[0]; c.Running || c.Status != 499 {
		t.Errorf("account %+v", c)
	}
}

func TestArrivalJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{Latency: geminitest.Latency{Arrival: 300 * time.Millisecond}})
		var late []time.Duration
		for range 200 {
			start := time.Now()
			generate(t.Context(), s, "hello")
			late = append(late, time.Since(start))
		}
		if low, high := slices.Min(late), slices.Max(late); low > 20*time.Millisecond || high > 300*time.Millisecond || high < 250*time.Millisecond {
			t.Errorf("calls came %s to %s late, want 0 to 300 ms", low, high)
		}
	})
}
