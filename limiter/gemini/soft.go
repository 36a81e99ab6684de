package gemini

import (
	"sync"
	"time"
)

// SoftAllowance is what a process lets through of a class while the shared state
// is away: the class's floor divided by the processes that may do so, which the
// caller knows. All lanes share it.
type SoftAllowance struct {
	PerMinute   int64 // requests in any minute; 0 lets nothing through
	Concurrency int64 // calls at once; 0 means no limit but PerMinute
}

// softGate holds one class to its allowance.
type softGate struct {
	mu      sync.Mutex
	limit   SoftAllowance    // guarded by mu
	start   time.Time        // second 0; guarded by mu
	second  int64            // the newest slot in use; guarded by mu
	slots   [softSlots]int64 // requests by second, modulo; guarded by mu
	running int64            // guarded by mu
}

// softSlots are whole seconds: the one at hand and the sixty before it cover any
// minute that ends now. A bucket that refills, of the same size, would let nearly
// twice as much through after an idle minute.
const softSlots = 61

// take lets n requests through, or says how long until they may come.
func (g *softGate) take(n int64, now time.Time) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(now)
	if n > g.limit.PerMinute {
		return time.Minute, false
	}
	if g.limit.Concurrency > 0 && g.running >= g.limit.Concurrency {
		return time.Second, false
	}
	if over := g.used() + n - g.limit.PerMinute; over > 0 {
		return g.until(over, now), false
	}
	g.slots[g.second%softSlots] += n
	g.running++
	return 0, true
}

func (g *softGate) used() (sum int64) {
	for _, n := range g.slots {
		sum += n
	}
	return sum
}

// turn empties the slots that came anew. Time that goes back counts as standing.
func (g *softGate) turn(now time.Time) {
	if g.start.IsZero() {
		g.start = now
	}
	second := int64(now.Sub(g.start) / time.Second)
	if second-g.second >= softSlots {
		g.slots, g.second = [softSlots]int64{}, second
	}
	for g.second < second {
		g.second++
		g.slots[g.second%softSlots] = 0
	}
}

// until is when the oldest slots that hold so much are empty again.
func (g *softGate) until(over int64, now time.Time) time.Duration {
	for s := g.second - softSlots + 1; s <= g.second; s++ {
		if s < 0 {
			continue
		}
		if over -= g.slots[s%softSlots]; over <= 0 {
			return g.start.Add(time.Duration(s+softSlots) * time.Second).Sub(now)
		}
	}
	return time.Minute
}

// done ends a call that take let through.
func (g *softGate) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
}

func (g *softGate) set(a SoftAllowance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = a
}
