package gemini

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantileIsNear compares with the exact quantile of what was added, from a
// millisecond to an hour: at most 7 % off.
func TestQuantileIsNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{1, 2, 20, 1000} {
		for range 50 {
			var h Histogram
			var all []time.Duration
			middle, spread := rng.Float64()*12, rng.Float64()*2
			for range n {
				ms := min(max(math.Exp(middle+spread*rng.NormFloat64()), 1), 3.6e6)
				d := time.Duration(ms * float64(time.Millisecond))
				h.Add(d)
				all = append(all, d)
			}
			slices.Sort(all)
			for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 1} {
				exact := all[max(0, int(math.Ceil(q*float64(n)))-1)]
				if off := float64(h.Quantile(q))/float64(exact) - 1; math.Abs(off) > 0.07 {
					t.Fatalf("n %d, q %g: %s, exactly %s: %.1f %% off", n, q, h.Quantile(q), exact, 100*off)
				}
			}
			if h.N() != int64(n) {
				t.Fatalf("N %d of %d", h.N(), n)
			}
		}
	}
}

func TestQuantileAtTheEnds(t *testing.T) {
	var h Histogram
	if h.N() != 0 || h.Quantile(0.5) != 0 {
		t.Errorf("empty: %d, %s", h.N(), h.Quantile(0.5))
	}
	h.Add(-time.Second)
	h.Add(999 * time.Microsecond)
	if h.Quantile(1) != 0 {
		t.Errorf("under a millisecond: %s", h.Quantile(1))
	}
	h.Add(100 * time.Hour)
	if got := h.Quantile(1); got < 2*time.Hour || h.N() != 3 {
		t.Errorf("beyond the last bucket: %s of %d", got, h.N())
	}
}

// TestHistogramCopiesAreApart: samples are copied about, and sums are made of
// copies.
func TestHistogramCopiesAreApart(t *testing.T) {
	var a Histogram
	for ms := range 40 {
		a.Add(time.Duration(ms*ms) * time.Millisecond)
	}
	b, c := a, a
	b.Add(time.Millisecond)
	b.Merge(a)
	c.Merge(b)
	if a.N() != 40 || b.N() != 81 || c.N() != 121 {
		t.Errorf("%d, %d, %d", a.N(), b.N(), c.N())
	}
	if !slices.IsSortedFunc(c.bins, func(x, y bin) int { return int(x.bucket - y.bucket) }) {
		t.Errorf("%v", c.bins)
	}
}

// TestMergedQuantiles are those of all that both have seen.
func TestMergedQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var parts [5]Histogram
	var whole Histogram
	for range 2000 {
		d := time.Duration(rng.IntN(5000)) * time.Millisecond
		whole.Add(d)
		parts[rng.IntN(5)].Add(d)
	}
	var sum Histogram
	for _, p := range parts {
		sum.Merge(p)
	}
	if !slices.Equal(sum.bins, whole.bins) {
		t.Errorf("%v\nwant %v", sum.bins, whole.bins)
	}
}
