package geminitest_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

// BenchmarkRoundTrip is a call of 1 kB without delay or limits: what the
// simulation itself adds to a benchmark of something else.
func BenchmarkRoundTrip(b *testing.B) {
	s := geminitest.MustNew(geminitest.Config{})
	prompt := "id: row-1\n" + strings.Repeat("The walnut desk has brass drawers and a clear finish. ", 19)
	b.ReportAllocs()
	for b.Loop() {
		if a := generate(b.Context(), s, prompt); a.status != 200 {
			b.Fatal(a)
		}
	}
}

// Many at once: the account adds up, and the race detector watches.
func TestConcurrentUse(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{
		Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 500}}},
		Faults: []geminitest.Fault{{Kind: geminitest.Fault500, Share: 0.1}}, Latency: geminitest.Latency{Base: time.Microsecond, Sigma: 1},
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				generate(t.Context(), s, "hello")
				s.Stats()
			}
		})
	}
	wg.Wait()
	st := s.Stats()
	if st.Calls != 800 || st.ByStatus["429"] != 300 || st.ByStatus["200"]+st.ByStatus["500"] != 500 || st.InFlight != 0 {
		t.Errorf("stats = %+v", st)
	}
}
