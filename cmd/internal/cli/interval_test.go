package cli

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestIntervalCovers: of 200 samples of 20 rows the interval has the population's
// true mean in at least nine out of ten, for costs as they are: skewed to the right.
func TestIntervalCovers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	population := make([]float64, 5000)
	var sum float64
	for i := range population {
		population[i] = 100 * math.Exp(0.6*rng.NormFloat64())
		sum += population[i]
	}
	mean, covered := sum/float64(len(population)), 0
	for seed := range uint64(200) {
		draw := rand.New(rand.NewPCG(seed, 0))
		var sample []float64
		for _, i := range draw.Perm(len(population))[:20] {
			sample = append(sample, population[i])
		}
		low, mid, high := expected(sample, int64(len(population)))
		if low > mid || mid > high {
			t.Fatalf("%g, %g, %g", low, mid, high)
		}
		if low <= mean && mean <= high {
			covered++
		}
	}
	if covered < 180 || covered == 200 {
		t.Errorf("%d of 200 intervals have the mean in them, want 180 or more, and not all", covered)
	}
}

func TestIntervalEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sample         []float64
		of             int64
		low, mid, high float64
	}{
		{nil, 10, 0, 0, 0},
		{[]float64{4}, 10, 2, 4, 8},
		{[]float64{4}, 1, 4, 4, 4},
		{[]float64{1, 3}, 2, 2, 2, 2}, // all of it is known
		{[]float64{1, 3}, 1_000_000, 0, 2, 2 + 12.706},
		{[]float64{5, 5, 5}, 100, 5, 5, 5},
	} {
		low, mid, high := expected(c.sample, c.of)
		if math.Abs(low-c.low) > 0.001 || mid != c.mid || math.Abs(high-c.high) > 0.001 {
			t.Errorf("%v of %d: %g, %g, %g; want %g, %g, %g", c.sample, c.of, low, mid, high, c.low, c.mid, c.high)
		}
	}
	// Tables of Student's t and of Wilson's interval.
	for df, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 9: 2.262, 19: 2.093, 99: 1.984} {
		if got := student(df); math.Abs(got-want) > 0.03 {
			t.Errorf("t of %d: %.3f, want %.3f", df, got, want)
		}
	}
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{2, 20, 0.028, 0.301}, {0, 20, 0, 0.161}, {20, 20, 0.839, 1}, {0, 0, 0, 1}} {
		if low, high := rate(c.k, c.n); math.Abs(low-c.low) > 0.001 || math.Abs(high-c.high) > 0.001 {
			t.Errorf("%d of %d: %.3f to %.3f, want %.3f to %.3f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}
