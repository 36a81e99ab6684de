package worker

import (
	"sync"
	"time"
)

// A lane is unwell when so many calls in a row failed for what may be the
// provider's trouble. Then rows keep their last attempt and wait, so that an
// outage of some minutes does not fail every row it meets; but not for ever, or
// rows that break the provider by themselves would never end.
const (
	unwellAfter = 20
	unwellFor   = 30 * time.Minute
)

// health is whether a lane's calls succeed at all, as this process sees it.
type health struct {
	mu     sync.Mutex
	failed int       // in a row
	since  time.Time // when the row of failures began
}

func (h *health) good() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = 0
}

func (h *health) fail(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == 0 {
		h.since = now
	}
	h.failed++
}

func (h *health) bad(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed >= unwellAfter && now.Sub(h.since) < unwellFor
}
