package gemini

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestHistoryGrows: a block that was read bit by bit is what reading all of it gives,
// also when calls are counted up to twenty seconds late, and a reader sees it.
func TestHistoryGrows(t *testing.T) {
	t.Parallel()
	r := newHistoryRig(t, dialEmbedded(t), nil)
	rng := rand.New(rand.NewPCG(3, 5))
	counted := int64(0)
	for round := range 75 { // two blocks and a half
		for range rng.IntN(4) {
			late := time.Duration(rng.Int64N(20_000)) * time.Millisecond
			if r.clock.now().Add(-late).Before(meterNoon) {
				late = 0
			}
			r.meter.opts.Now = func() time.Time { return r.clock.now().Add(-late) }
			r.call("gemini-"+string("xy"[rng.IntN(2)]), "bulk", fmt.Sprintf("f%d", rng.IntN(3)), []string{"", "acme", "umbrella"}[rng.IntN(3)], rng.Int64N(100))
			counted++
		}
		r.meter.opts.Now = r.clock.now
		r.pass(10 * time.Second)
		for index, g := range r.made.growing {
			if tierFine.index(r.clock.now()) != index {
				continue
			}
			whole, err := r.made.raw.fine(t.Context(), g.use.begin, g.use.n)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := numbers(g.use), numbers(whole.use); !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: by feature\n%v, read as a whole\n%v", round, got, want)
			}
			if got, want := numbers(g.tenants), numbers(whole.tenants); !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: by tenant\n%v, read as a whole\n%v", round, got, want)
			}
		}
	}
	if d := r.ask(HistoryQuery{From: meterNoon, To: r.clock.now()}); d.Total.Sum.Calls != counted {
		t.Errorf("%d calls of %d", d.Total.Sum.Calls, counted)
	}
}

// TestHistoryTakesLateCountsWhenFinal: what a meter could not write for minutes is in
// the history when the block is final.
func TestHistoryTakesLateCountsWhenFinal(t *testing.T) {
	t.Parallel()
	r := newHistoryRig(t, dialEmbedded(t), nil)
	r.call("gemini-x", "bulk", "a", "", 1)
	for range 18 {
		r.pass(10 * time.Second)
	}
	r.meter.opts.Now = func() time.Time { return meterNoon.Add(5 * time.Second) }
	r.call("gemini-x", "bulk", "a", "", 1)
	r.meter.opts.Now = r.clock.now
	for range 11 {
		r.pass(time.Minute)
	}
	if d := r.ask(HistoryQuery{From: meterNoon, To: meterNoon.Add(time.Minute)}); d.Total.Sum.Calls != 2 {
		t.Errorf("%d calls of 2", d.Total.Sum.Calls)
	}
}

// numbers are a block's that are not zero.
func numbers(b *block) map[string]int64 {
	out := map[string]int64{}
	for series, cols := range b.series {
		for field, ns := range cols {
			for step, n := range ns {
				if n != 0 {
					out[fmt.Sprint(series, " ", field, " ", step)] = n
				}
			}
		}
	}
	return out
}
