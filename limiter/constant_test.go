package limiter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestConstantDemand: whoever keeps asking gets 0.98 of the limit less the margin
// (60 of every 61 s), and no provider refuses any of it, though calls arrive up to
// 0.3 s later than they were admitted.
func TestConstantDemand(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		binds  string
		unit   Unit
	}{
		"requests": {Limits{RPM: 600, InputTPM: 1_000_000}, "rpm", Requests},
		"tokens":   {Limits{RPM: 6000, InputTPM: 60_000}, "input_tpm", InputTokens},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, rng := newBench(t, "model"), rand.New(rand.NewPCG(4, 4))
			b.must(b.Configure(b.Context(), Config{Scope: b.scope, Classes: []Class{{Name: "interactive", Smooth: true}}, // else all calls are open at once, and the margin is largest when it counts
				Lanes: []LaneConfig{{Lane: b.lane, Limits: c.limits, Lend: "now"}}}))
			var log []arrival
			var open []*Permit
			var used, left int64
			const warm, ticks = 2 * 610, 12 * 610 // in tenths of a second: ten times the 61 s after which use repeats
			for i := range ticks {
				b.wait(100 * time.Millisecond)
				for len(open) > 0 && b.now.Sub(open[0].Granted) > 2*time.Second {
					b.settle(open[0], open[0].Amounts)
					open = open[1:]
				}
				for {
					p, d := b.ask(b.request("interactive", Amounts{1, 20 + rng.Int64N(160)}))
					if d != nil {
						break
					}
					open = append(open, p)
					late := time.Duration(rng.Int64N(int64(300 * time.Millisecond)))
					log = append(log, arrival{b.now.Sub(noon) + late, "interactive", p.Amounts})
					if i >= warm {
						used += p.Amounts[c.unit]
					}
				}
				if i >= warm {
					at := slices.IndexFunc(b.state().Limits, func(l LimitState) bool { return l.Name == c.binds })
					left += b.state().Limits[at].Effective
				}
			}
			got := float64(used) * 600 / (ticks - warm) / (float64(left) / (ticks - warm))
			t.Logf("%.4f of %s less margin used; the mean of what is left of the limit is %d", got, c.binds, left/(ticks-warm))
			if got < 0.98 {
				t.Errorf("%.4f of the limit less margin used; want 0.98", got)
			}
			if n := refusals(log, c.limits); len(n) > 0 {
				t.Errorf("providers refuse %v of %d", n, len(log))
			}
		})
	}
}
