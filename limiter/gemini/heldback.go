package gemini

import (
	"sync"
	"time"

	"nightshift/limiter"
)

// heldBack says once a minute, and not for each call, that a breaker holds calls
// back: with its reason and how many since it was said last.
type heldBack struct {
	mu   sync.Mutex
	said time.Time
	n    int64
}

func (h *heldBack) note(t *Transport, d *limiter.Denied) {
	switch d.Reason {
	case limiter.ReasonBreaker, limiter.ReasonCredentials:
	case limiter.ReasonSpend:
		if d.Limiter != "" {
			return // a limit of our own
		}
	default:
		return
	}
	now := t.cfg.Now()
	h.mu.Lock()
	h.n++
	due := now.Sub(h.said) >= time.Minute || h.said.After(now)
	n := h.n
	if due {
		h.said, h.n = now, 0
	}
	h.mu.Unlock()
	if due {
		t.log.Warn("calls are held back: none could succeed now", "model", d.Model, "why", d.Detail,
			"reason", string(d.Reason), "calls", n, "next_look", d.RetryAt.UTC().Format(time.RFC3339))
	}
}
