package limiter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// charge is an admission as an outsider would have noted it.
type charge struct {
	at    time.Duration
	est   int64
	final int64 // as far as it was settled; the estimate until then
}

// traffic offers random calls of both classes for a while and notes what was
// admitted. Calls settle late, early, never, or above their estimate.
type traffic struct {
	*bench
	rng     *rand.Rand
	over    bool // some settle above their estimate
	offered time.Duration
	log     map[string][]*charge // by limit
	open    []openCall
}

type openCall struct {
	id   string
	at   time.Time
	used Amounts
	log  [2]*charge
}

func (x *traffic) play(d time.Duration) {
	end := x.now.Add(d)
	for x.now.Before(end) {
		x.wait(time.Duration(x.rng.Int64N(2 * int64(x.offered))))
		if x.rng.IntN(400) == 0 {
			x.wait(time.Duration(x.rng.IntN(70)) * time.Second) // idle: what a bucket would save up
		}
		x.settleDue()
		x.offer()
	}
}

func (x *traffic) offer() {
	cost := 1 + x.rng.Int64N(200)
	if x.rng.IntN(20) == 0 {
		cost *= 20
	}
	q := x.request([]string{"interactive", "bulk"}[x.rng.IntN(2)], Amounts{1, cost})
	q.Lease = time.Duration(5+x.rng.IntN(200)) * time.Second
	_, err := x.Acquire(x.Context(), q)
	if err != nil {
		if !errors.As(err, new(*Denied)) {
			x.Fatal(err)
		}
		return
	}
	at := x.now.Sub(noon)
	c := openCall{id: q.ID, used: Amounts{1, cost}}
	for i, n := range []int64{1, cost} {
		c.log[i] = &charge{at: at, est: n, final: n}
		name := []string{"rpm", "input_tpm"}[i]
		x.log[name] = append(x.log[name], c.log[i])
	}
	switch x.rng.IntN(10) {
	case 0:
		return // the holder died
	case 1, 2:
		c.used[InputTokens] = cost / 2
	case 3:
		if x.over {
			c.used[InputTokens] = cost + cost/2
		}
	}
	c.at = x.now.Add(time.Duration(x.rng.IntN(20000)) * time.Millisecond)
	if x.rng.IntN(30) == 0 {
		c.at = x.now.Add(time.Duration(x.rng.IntN(300)) * time.Second)
	}
	x.open = append(x.open, c)
}

func (x *traffic) settleDue() {
	x.open = slices.DeleteFunc(x.open, func(c openCall) bool {
		if c.at.After(x.now) {
			return false
		}
		x.must(x.Settle(x.Context(), Settlement{ID: c.id, Lane: x.lane, Outcome: Settled, Used: c.used}))
		c.log[0].final, c.log[1].final = c.used[0], c.used[1]
		return true
	})
}

// most gives the largest sum in any window of a minute, however it lies.
func most(log []*charge, amount func(*charge) int64) int64 {
	var sum, largest int64
	first := 0
	for _, c := range log {
		sum += amount(c)
		for log[first].at <= c.at-time.Minute {
			sum -= amount(log[first])
			first++
		}
		largest = max(largest, sum)
	}
	return largest
}

// TestAnyWindow holds rule 1 against an independent sum: whatever was admitted,
// no window of a minute holds more than the limit. What settled above its
// estimate counts at the estimate here: the rest is the debt that the next
// admissions pay, and TestDebtIsPaid is about that.
func TestAnyWindow(t *testing.T) {
	for seed := range uint64(6) {
		for _, kind := range []string{"model", "real"} {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				t.Parallel()
				x := newTraffic(t, kind, seed)
				span := 2 * time.Hour
				if kind == "real" {
					span = 15 * time.Minute
				}
				x.play(span)
				for name, limit := range map[string]int64{"rpm": 60, "input_tpm": 12_000} {
					got := most(x.log[name], func(c *charge) int64 { return min(c.final, c.est) })
					if got > limit {
						t.Errorf("%s: %d in a window; limit %d", name, got, limit)
					}
					if got < limit*9/10 {
						t.Errorf("%s: at most %d of %d in a window: the traffic proves nothing", name, got, limit)
					}
					if all := most(x.log[name], func(c *charge) int64 { return c.final }); !x.over && all > limit {
						t.Errorf("%s: settled %d in a window; limit %d", name, all, limit)
					} else {
						t.Logf("%s: factor %.3f", name, float64(all)/float64(limit))
					}
				}
			})
		}
	}
}

func newTraffic(t *testing.T, kind string, seed uint64) *traffic {
	x := &traffic{bench: newBench(t, kind), rng: rand.New(rand.NewPCG(seed, 3)), over: seed%2 == 1,
		offered: 400 * time.Millisecond, log: map[string][]*charge{}}
	x.limits(Limits{RPM: 60, InputTPM: 12_000, Concurrency: 40})
	return x
}

// TestServerWindow lets the calls take up to 0.3 s to a server that counts when
// they arrive: it too sees no window above the limit.
func TestServerWindow(t *testing.T) {
	t.Parallel()
	x := newTraffic(t, "model", 4)
	x.play(3 * time.Hour)
	for name, limit := range map[string]int64{"rpm": 60, "input_tpm": 12_000} {
		var arrived []*charge
		for _, c := range x.log[name] {
			late := *c
			late.at += time.Duration(x.rng.IntN(300)) * time.Millisecond
			arrived = append(arrived, &late)
		}
		slices.SortFunc(arrived, func(a, b *charge) int { return int(a.at - b.at) })
		if got := most(arrived, func(c *charge) int64 { return c.final }); got > limit {
			t.Errorf("%s: %d at the server in a window; limit %d", name, got, limit)
		}
	}
}

// TestLedgerBalances compares use with an independent sum after random
// histories: calls that crash keep their estimate and give their slot back.
func TestLedgerBalances(t *testing.T) {
	for _, kind := range []string{"model", "real"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := newTraffic(t, kind, 11)
			for range 40 {
				x.play(20 * time.Second)
				x.balance()
			}
			x.wait(10 * time.Minute)
			x.settleDue()
			for _, name := range []string{"rpm", "input_tpm", "concurrency"} {
				if n := x.used(name); n != 0 {
					t.Errorf("%d %s in use when all has ended", n, name)
				}
			}
		})
	}
}

func (x *traffic) balance() {
	x.Helper()
	now := x.now.Sub(noon)
	slot := now.Milliseconds() / 500
	for name, log := range x.log {
		var want int64
		for _, c := range log {
			if c.at.Milliseconds()/500 > slot-122 {
				want += c.final
			}
		}
		if got := x.used(name); got != want {
			x.Fatalf("%s: %d in use; want %d", name, got, want)
		}
	}
}
