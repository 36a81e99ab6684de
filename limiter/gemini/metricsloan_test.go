package gemini

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"nightshift/limiter"
)

// TestMetricsOfLoans: a permit that is lent is granted once and ends once, however
// often its end is told, and what is charged less what is refunded is what it took.
func TestMetricsOfLoans(t *testing.T) {
	t.Parallel()
	m := NewMetrics(nil)
	r := newLendRig(t, dialEmbedded(t), lendLimits, func(c *TransportConfig) { c.Metrics = m })
	used, given := r.lend(lendAsk()), r.lend(lendAsk())
	for _, end := range []LoanEnd{
		{Partial: true, Usage: &Usage{Prompt: 120, Candidates: 1500}},
		{Status: 200, Usage: &Usage{Prompt: 120, Candidates: 1700}},
		{Status: 200, Usage: &Usage{Prompt: 120, Candidates: 1700}},
	} {
		_, err := r.Settle(r.caller(), "k_1", used.ID, end)
		r.must(err)
	}
	for range 2 {
		_, err := r.Release(r.caller(), "k_1", given.ID)
		r.must(err)
	}
	labels := []string{"interactive", "gemini-2.5-flash"}
	for name, got := range map[string]float64{
		"granted": testutil.ToFloat64(m.granted.WithLabelValues(labels...)) - 1,
		"settled": testutil.ToFloat64(m.settled.WithLabelValues(labels...)), "released": testutil.ToFloat64(m.released.WithLabelValues(labels...)),
		"calls": testutil.ToFloat64(m.calls.WithLabelValues("interactive", "gemini-2.5-flash", "admitted")),
	} {
		if got != 1 {
			t.Errorf("%s: off by %v", name, got-1)
		}
	}
	for kind, want := range map[string]float64{"input": 120, "output": 1700} {
		charged := testutil.ToFloat64(m.charged.WithLabelValues(append(labels, kind)...))
		back := testutil.ToFloat64(m.refunded.WithLabelValues(append(labels, kind)...))
		if charged-back != want || back != float64(given.Charged[map[string]limiter.Unit{"input": limiter.InputTokens, "output": limiter.OutputTokens}[kind]]) {
			t.Errorf("%s: %v charged less %v refunded, want %v", kind, charged, back, want)
		}
	}
}
