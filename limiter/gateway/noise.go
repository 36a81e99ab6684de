package gateway

import (
	"regexp"
	"sync"
	"time"

	"nightshift/limiter/gemini"
)

// noiseEvery is how often the same trouble is worth a line.
const noiseEvery = time.Minute

// noise counts what happens often, by reason. Reasons are a closed set. The
// zero value works.
type noise struct {
	mu   sync.Mutex
	seen map[string]*counted // guarded by mu
}

type counted struct {
	n    int64
	last time.Time
}

// note counts one more; when a line is due it gives how many came since the last.
func (n *noise) note(reason string, now time.Time) (count int64, due bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]*counted{}
	}
	c := n.seen[reason]
	if c == nil {
		c = &counted{}
		n.seen[reason] = c
	}
	c.n++
	if !c.last.IsZero() && now.Sub(c.last) < noiseEvery {
		return 0, false
	}
	count, c.n, c.last = c.n, 0, now
	return count, true
}

var ownKeys = regexp.MustCompile(SecretPrefix + `[A-Z2-7]{8,}`)

// clean takes credentials out of a text that may be logged or shown, our own too.
func clean(s string) string { return gemini.Redact(ownKeys.ReplaceAllString(s, "[redacted]")) }

// say logs trouble, one line for a reason and a minute.
func (g *Gateway) say(reason, message string, err error, more ...any) {
	count, due := g.noise.note(reason, g.cfg.Now())
	if !due {
		return
	}
	more = append(more, "reason", reason, "count", count)
	if err != nil {
		more = append(more, "error", clean(err.Error()))
	}
	g.log.Warn(message, more...)
}
