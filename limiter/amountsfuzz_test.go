package limiter

import (
	"math"
	"strings"
	"testing"
	"time"
)

// FuzzAmounts: any amounts and limits are either refused by the limiter's own check, or
// mean the same to the Model and to the scripts, whose numbers are floats: what is charged
// is charged to the token, and what is refused says the same numbers.
func FuzzAmounts(f *testing.F) {
	for _, n := range []int64{0, 1, -1, maxAmount, maxAmount + 1, maxAmount - 1, 1 << 53, 1<<53 + 1, 300_000_000_000_000, 99_999_999_999, 123_456_789_012, math.MaxInt64, math.MinInt64, 1 << 31} {
		f.Add(int64(maxAmount), n, n/2)
		f.Add(n, int64(7), n)
		f.Add(int64(99_999_999_999), int64(99_999_999_998), int64(3))
	}
	model, scripts := newBench(f, "model"), newBench(f, "real")
	model.scope, model.lane = scripts.scope, scripts.lane
	model.gate = NewModel(scripts.scope, model.now)
	n := 0
	f.Fuzz(func(t *testing.T, limit, asked, used int64) {
		n++
		var said [2]string
		for i, b := range []*bench{model, scripts} {
			b.TB = t
			b.wait(7 * time.Minute) // so that each starts with empty windows
			said[i] = amountsStory(b, n, limit, asked, used)
		}
		if said[0] != said[1] {
			t.Errorf("limit %d, asked %d, used %d\n model %s\nscript %s", limit, asked, used, said[0], said[1])
		}
		if refused := asked < 0 || asked > maxAmount; refused && !strings.Contains(said[0], "want 0 to") {
			t.Errorf("%d is taken: %s", asked, said[0])
		}
	})
}

// amountsStory is what a gate says of a limit, a request and its settlement.
func amountsStory(b *bench, n int, limit, asked, used int64) string {
	c := Config{Scope: b.scope, Classes: classes, By: "test", Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 100, InputTPM: limit, USDPerMonth: limit}, Lend: "now"}}}
	out := errText(b.Configure(b.Context(), c))
	q := Request{ID: "f" + jsonOf(n), Class: "interactive", Lane: b.lane, Amounts: Amounts{Requests: 1, InputTokens: asked, MicroUSD: asked}, Force: n%2 == 0}
	p, err := b.Acquire(b.Context(), q)
	out += jsonOf(p) + outcome(err) + charged(b)
	s := Settlement{ID: q.ID, Lane: b.lane, Outcome: Settled, Used: Amounts{Requests: 1, InputTokens: used, MicroUSD: used}}
	out += errText(b.Settle(b.Context(), s)) + charged(b)
	if used < 0 || used > maxAmount { // it is open still, and no part of the next story
		out += errText(b.Settle(b.Context(), Settlement{ID: q.ID, Lane: b.lane, Outcome: Released}))
	}
	return out
}

func charged(b *bench) string {
	s, err := b.State(b.Context(), b.lane)
	return "\n" + jsonOf(s.Limits) + errText(err) + "\n"
}

// FuzzNames: lanes and leaves are read as they were written.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"gemini/p/global/flash", "a/b//c", "gemini/p/r/tunedmodels/x", "////", "a/b/c/d/e/f", "-/acme/-/-/r1/low", "é/ü/ö/ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if l, err := ParseLane(s); err == nil && l.String() != s {
			t.Errorf("%q is %+v, which is %q", s, l, l)
		} else if err != nil && l != (Lane{}) {
			t.Errorf("%q: %+v and %v", s, l, err)
		}
		if p := ParseLeaf(s); p != (Path{}) && ParseLeaf(p.Leaf()) != p {
			t.Errorf("%q is %+v, which is %q", s, p, p.Leaf())
		}
		o := Override{Node: s, Name: "rpm", Value: 1}
		if err := o.check(); err != nil && !strings.Contains(err.Error(), ": ") {
			t.Errorf("%q: %v", s, err)
		}
	})
}
