package gemini

import (
	"sync"
	"time"
)

// tallyEvery is how often the same trouble is worth a line.
const tallyEvery = time.Minute

// tally counts what one outage does many times.
type tally struct {
	mu   sync.Mutex
	n    int64
	last time.Time
}

// note counts one more. When a line is due it gives how many came since the last.
func (t *tally) note(now time.Time) (n int64, due bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
	if !t.last.IsZero() && now.Sub(t.last) < tallyEvery {
		return 0, false
	}
	n, t.n, t.last = t.n, 0, now
	return n, true
}
