package limiter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// maxMin is the weighted max-min share of a capacity: water is poured into vessels
// as wide as the weights until each is full, or all is poured.
func maxMin(capacity float64, weights, most []float64) []float64 {
	got, full := make([]float64, len(weights)), make([]bool, len(weights))
	for left := capacity; left > 1e-6; {
		wide := 0.0
		for i, w := range weights {
			if !full[i] {
				wide += w
			}
		}
		if wide == 0 {
			break
		}
		rise := left / wide
		for i, w := range weights {
			if !full[i] {
				rise = min(rise, (most[i]-got[i])/w)
			}
		}
		for i, w := range weights {
			if !full[i] {
				got[i] += rise * w
				left -= rise * w
				full[i] = most[i]-got[i] < 1e-6
			}
		}
	}
	return got
}

// TestMaxMin holds the shares of tenants that all have jobs waiting, with weights
// and with limits of their own, against a computation that shares nothing with the
// limiter: within 3 % of what is due, or one of the largest jobs.
func TestMaxMin(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 77))
			l := Limits{RPM: 3000}
			f := newFleet(t, LaneConfig{Limits: l}, 1000)
			c := Config{Scope: f.scope, Lanes: []LaneConfig{{Lane: f.lane, Limits: l}}, Weights: map[string]int64{}, Nodes: map[string]Limits{},
				Classes: []Class{{Name: "bulk", Smooth: true, Tickets: true}}}
			const tenants = 6
			weights, most := make([]float64, tenants), make([]float64, tenants)
			names := make([]string, tenants)
			for i := range tenants {
				names[i] = "t" + itoa(i)
				w := 1 + rng.Int64N(4)
				weights[i], most[i] = float64(w), math.Inf(1)
				c.Weights["tenant/"+names[i]] = w
				if i%2 == 1 {
					own := 120 + rng.Int64N(600)
					c.Nodes["tenant/"+names[i]], most[i] = Limits{RPM: own}, float64(own)
				}
			}
			f.must(f.Configure(f.Context(), c))
			js := f.tenants(6000, requests, names...)
			f.run(5*time.Minute, nil)
			from, to := 64*time.Second, 64*time.Second+3*61*time.Second // whole windows, after the first
			got, sum := make([]float64, tenants), 0.0
			for i := range js {
				got[i] = float64(spentBy(js[i], Requests, from, to)) / 3
				sum += got[i]
			}
			want := maxMin(sum, weights, most)
			for i := range want {
				t.Logf("%s weight %.0f, own limit %4.0f: %6.1f a window, due %6.1f", names[i], weights[i], most[i], got[i], want[i])
				if math.Abs(got[i]-want[i]) > max(1, 0.03*want[i]) {
					t.Errorf("%s has %.1f a window; %.1f is due", names[i], got[i], want[i])
				}
			}
			if sum < 0.96*float64(l.RPM) {
				t.Errorf("%.0f a window of %d used", sum, l.RPM)
			}
		})
	}
}
