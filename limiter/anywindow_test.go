package limiter

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// world offers random calls of a lane and of two tenants, while limits come, go and
// change, holders die, and the clock is set. It holds every admission and every sum
// against books of its own.
type world struct {
	*bench
	rng     *rand.Rand
	books   []*book
	open    []*worldCall
	last    int64 // ms: the newest time that the gate saw
	rolled  int64 // slot in which leases were last looked at
	largest map[string]float64
	jumps   int // of the clock, back
}

// worldCall is a call that will be settled, or never.
type worldCall struct {
	*bookedCall
	charged Amounts
	due     int64
	dead    bool // its holder died
	jumps   int  // before it
}

// TestBooks holds rules 1, 5, 6 and 8 on random histories: no window holds more
// than the limit at any admission, and every sum is that of the books, whatever
// happened to calls, limits and clock.
func TestBooks(t *testing.T) {
	var mu sync.Mutex
	largest := map[string]float64{}
	t.Run("each", func(t *testing.T) {
		seeds := uint64(6)
		if racing {
			seeds = 3
		}
		for seed := range seeds {
			for kind, steps := range map[string]int{"model": 1200, "real": 300} {
				t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, kind, seed)
					for range steps {
						w.step()
					}
					w.drain()
					mu.Lock()
					defer mu.Unlock()
					for name, f := range w.largest {
						largest[name] = max(largest[name], f)
					}
				})
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		t.Logf("%-24s factor %.3f", name, largest[name])
		if largest[name] < 0.9 && !strings.Contains(name, "usd_per_") && !strings.Contains(name, "rpd") {
			t.Errorf("%s: never more than %.3f of the limit in use: it proves nothing", name, largest[name])
		}
	}
	if len(largest) < 14 {
		t.Errorf("only the limits %v were ever used", largest)
	}
}

func newWorld(t *testing.T, kind string, seed uint64) *world {
	w := &world{bench: newBench(t, kind), rng: rand.New(rand.NewPCG(seed, 21)), largest: map[string]float64{},
		books: []*book{{}, {node: "tenant/a"}, {node: "tenant/b"}}}
	w.last = w.now.UnixMilli()
	w.reconfigure()
	return w
}

func (w *world) step() {
	w.move()
	w.settleDue()
	for range 1 + w.rng.IntN(3) {
		w.offer()
	}
	if w.rng.IntN(60) == 0 && w.now.UnixMilli() >= w.last { // not while time stands still
		w.wait(time.Millisecond)
		w.reconfigure()
	}
	w.balance()
}

// move lets time go on, stand still, or be set back.
func (w *world) move() {
	d := time.Duration(1+w.rng.IntN(1200)) * time.Millisecond
	switch w.rng.IntN(150) {
	case 0:
		d = time.Duration(w.rng.IntN(3600)) * time.Second
	case 1, 2, 3:
		d = time.Duration(w.rng.IntN(70)) * time.Second
	case 4:
		d = -time.Duration(w.rng.IntN(4000)) * time.Millisecond
	case 5:
		d = -10 * time.Second
	case 6:
		d = -time.Hour
	}
	if d < 0 && !w.mayGoBack() {
		return
	}
	w.wait(d)
	w.saw(w.now.UnixMilli())
	w.balance()
}

// mayGoBack leaves out what has no right answer: days that begin twice, limits
// that are away and see no clock, and two such jumps within the life of a call.
func (w *world) mayGoBack() bool {
	h := w.now.In(californian).Hour()
	closed := slices.ContainsFunc(w.books, func(b *book) bool { return b.closed })
	old := slices.ContainsFunc(w.open, func(c *worldCall) bool { return !c.dead && c.jumps != w.jumps })
	return h >= 2 && h <= 21 && !closed && !old
}

// saw follows the time that the gate has now.
func (w *world) saw(t int64) {
	if back := t - w.last; back < -5000 {
		w.jumps++
		for _, b := range w.books {
			b.setBack(w.last, t)
		}
		for _, c := range w.open {
			c.ends, c.due = c.ends+back, c.due+back
			if c.lapsed > 0 {
				c.lapsed += back
			}
		}
		w.rolled = 0
	} else if back < 0 {
		t = w.last
	}
	w.last = t
	if t/500 == w.rolled {
		return
	}
	if w.rolled > 0 {
		w.lapse(t)
	}
	w.rolled = t / 500
}

// lapse ends leases, once in a slot.
func (w *world) lapse(t int64) {
	for _, c := range w.open {
		switch {
		case c.lapsed == 0 && c.ends <= t:
			c.lapsed = t
		case c.lapsed > 0 && c.lapsed+3_600_000 <= t:
			c.forgotten = true
		}
	}
}

func (w *world) settleDue() {
	w.open = slices.DeleteFunc(w.open, func(c *worldCall) bool {
		if c.forgotten {
			return true
		}
		if c.dead || c.due > w.last {
			return false
		}
		w.settleOne(c)
		return c.ended
	})
}

// settleOne settles in part, by usage, or not at all, each sometimes twice.
func (w *world) settleOne(c *worldCall) {
	s := Settlement{ID: c.id, Lane: w.lane, Outcome: Settled, Used: c.charged}
	s.Used[InputTokens] = s.Used[InputTokens] * w.rng.Int64N(16) / 10
	s.Used[MicroUSD] = s.Used[MicroUSD] * w.rng.Int64N(12) / 10
	switch w.rng.IntN(8) {
	case 0:
		s.Partial = true
		for u := range s.Used {
			s.Used[u] = max(s.Used[u], c.charged[u])
		}
		c.charged, c.due = s.Used, c.due+1+w.rng.Int64N(20_000)
	case 1:
		s.Outcome, s.Used, c.ended = Released, Amounts{}, true
	default:
		c.ended = true
	}
	for range 1 + w.rng.IntN(2) {
		w.must(w.Settle(w.Context(), s))
	}
	c.settle(s.Used, w.last)
}

func (w *world) offer() {
	cost := 1 + w.rng.Int64N(500)
	if w.rng.IntN(20) == 0 {
		cost *= 20
	}
	q := w.request([]string{"interactive", "bulk"}[w.rng.IntN(2)], Amounts{Requests: 1, InputTokens: cost, MicroUSD: 3 * cost})
	q.Path.Tenant = []string{"", "a", "b"}[w.rng.IntN(3)]
	q.Lease = time.Duration(1000+w.rng.IntN(90_000)) * time.Millisecond
	if _, err := w.Acquire(w.Context(), q); err != nil {
		if !errors.As(err, new(*Denied)) {
			w.Fatal(err)
		}
		return
	}
	c := &worldCall{&bookedCall{id: q.ID, ends: w.last + q.Lease.Milliseconds()}, q.charged(), w.last + w.rng.Int64N(30_000), false, w.jumps}
	switch w.rng.IntN(12) {
	case 0:
		c.dead = true
	case 1:
		c.due += w.rng.Int64N(300_000) // late, perhaps after its lease
	}
	w.open = append(w.open, c)
	w.admit(c.bookedCall, q)
}

// admit writes the call down, and holds what was in use then against the limits.
func (w *world) admit(c *bookedCall, q Request) {
	for _, b := range w.books {
		if b.node != "" && b.node != "tenant/"+q.Path.Tenant {
			continue
		}
		b.admit(c, q.charged(), w.last)
		for name, p := range b.pages {
			if b.closed || q.charged()[p.Unit] == 0 {
				continue
			}
			got, id := p.window(w.last), b.name()+" "+name
			if w.largest[id] = max(w.largest[id], float64(got)/float64(p.Amount)); got > p.Amount {
				w.Fatalf("%s: %d in a window when %s was admitted; limit %d", id, got, q.ID, p.Amount)
			}
		}
	}
}

func (b *book) name() string {
	if b.node == "" {
		return "lane"
	}
	return b.node
}

// balance compares every sum with the books.
func (w *world) balance() {
	w.Helper()
	w.saw(w.now.UnixMilli())
	for _, b := range w.books {
		list, err := w.limitsOf(b)
		if b.closed {
			if !errors.Is(err, ErrUnknownNode) {
				w.Fatalf("%s has no limits: %v", b.node, err)
			}
			continue
		}
		w.must(err)
		for _, l := range list {
			if want := b.pages[l.Name].used(w.last); l.Used != want {
				w.Fatalf("at %d: %s %s: %d in use; the books have %d", w.last, b.name(), l.Name, l.Used, want)
			}
		}
	}
}

func (w *world) limitsOf(b *book) ([]LimitState, error) {
	if b.node == "" {
		return w.state().Limits, nil
	}
	s, err := w.NodeState(w.Context(), b.node)
	return s.Limits, err
}

// reconfigure sets limits anew; tenant/b has those of the pattern.
func (w *world) reconfigure() {
	some := func(n int64) int64 {
		if w.rng.IntN(3) == 0 {
			return 0
		}
		return n/2 + w.rng.Int64N(n)
	}
	lane := Limits{RPM: 30 + w.rng.Int64N(60), InputTPM: some(12_000), RPD: some(20_000), Concurrency: some(30), USDPer10m: some(150_000), USDPerMonth: some(40_000_000)}
	c := Config{Scope: w.scope, Classes: classes, Nodes: map[string]Limits{}, Lanes: []LaneConfig{{Lane: w.lane, Limits: lane, Lend: "now"}}}
	limits := map[string]Limits{}
	for _, name := range []string{"tenant/a", "tenant/*"} {
		if limits[name] = (Limits{RPM: some(20), InputTPM: some(5_000), Concurrency: some(8), USDPerDay: some(10_000_000)}); w.rng.IntN(4) == 0 {
			limits[name] = Limits{}
		}
		if len(limits[name].List()) > 0 {
			c.Nodes[name] = limits[name]
		}
	}
	w.books[0].configure(lane)
	w.books[1].configure(cmp.Or(limits["tenant/a"], limits["tenant/*"]))
	w.books[2].configure(limits["tenant/*"])
	w.must(w.Configure(w.Context(), c))
	w.balance()
}

// drain ends all calls and lets every window pass: nothing is left in use.
func (w *world) drain() {
	for living := true; living; {
		living = false
		for _, c := range w.open {
			c.due, living = 0, living || !c.dead
		}
		w.settleDue()
	}
	w.wait(3 * time.Hour)
	w.balance()
	for _, l := range w.state().Limits {
		if !l.Window.counted() && l.Used != 0 {
			w.Errorf("%d %s in use when all has ended", l.Used, l.Name)
		}
	}
}
