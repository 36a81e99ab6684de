package gemini

import (
	"fmt"
	"sync"
	"time"
)

// softGate holds one class to its allowance.
type softGate struct {
	mu      sync.Mutex
	limit   SoftAllowance       // guarded by mu
	start   time.Time           // of second 0; guarded by mu
	second  int64               // the newest in the ring; guarded by mu
	ring    [softSeconds]int64  // requests by second, modulo; guarded by mu
	running map[int64]time.Time // when each call began; guarded by mu
	serial  int64               // of the last call; guarded by mu
}

// softSeconds are whole ones: that at hand and the sixty before it cover any
// minute that ends now. A bucket of that size that refills would let nearly twice
// as much through after an idle minute.
const softSeconds = 61

// softLease is how long a call may hold its place: Gemini's own longest deadline.
// A body that nobody closes gives it back then.
const softLease = 10 * time.Minute

func (g *softGate) allows() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit.PerMinute > 0
}

func (g *softGate) allowance() SoftAllowance {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}

func (g *softGate) set(a SoftAllowance) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = a
}

// String says what is allowed.
func (g *softGate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limit.Concurrency > 0 {
		return fmt.Sprintf("%d requests a minute and %d at once", g.limit.PerMinute, g.limit.Concurrency)
	}
	return fmt.Sprintf("%d requests a minute", g.limit.PerMinute)
}

// take lets n requests through, whose end done must be told; or it says how long
// until they may come.
func (g *softGate) take(n int64, now time.Time) (id int64, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turn(now)
	if n > g.limit.PerMinute {
		return 0, time.Minute
	}
	if g.full(now) {
		return 0, time.Second
	}
	if over := g.used() + n - g.limit.PerMinute; over > 0 {
		return 0, g.until(over, now)
	}
	g.ring[g.second%softSeconds] += n
	if g.running == nil {
		g.running = map[int64]time.Time{}
	}
	g.serial++
	g.running[g.serial] = now
	return g.serial, 0
}

// done ends a call that take let through.
func (g *softGate) done(id int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.running, id)
}

// turn empties the seconds that came anew. Time that goes back stands still.
func (g *softGate) turn(now time.Time) {
	if g.start.IsZero() {
		g.start = now
	}
	second := int64(now.Sub(g.start) / time.Second)
	for n := 0; g.second < second && n < softSeconds; n++ {
		g.second++
		g.ring[g.second%softSeconds] = 0
	}
	if g.second < second { // all is empty
		g.second = second
	}
}

func (g *softGate) full(now time.Time) bool {
	if g.limit.Concurrency <= 0 || int64(len(g.running)) < g.limit.Concurrency {
		return false
	}
	for id, began := range g.running {
		if now.Sub(began) > softLease {
			delete(g.running, id)
		}
	}
	return int64(len(g.running)) >= g.limit.Concurrency
}

func (g *softGate) used() (sum int64) {
	for _, n := range g.ring {
		sum += n
	}
	return sum
}

// until is how long it takes until the oldest seconds that hold so much are out.
func (g *softGate) until(over int64, now time.Time) time.Duration {
	for s := max(0, g.second-softSeconds+1); s <= g.second; s++ {
		if over -= g.ring[s%softSeconds]; over <= 0 {
			return max(time.Millisecond, g.start.Add(time.Duration(s+softSeconds)*time.Second).Sub(now))
		}
	}
	return time.Minute // never: all that is used is in the ring
}
