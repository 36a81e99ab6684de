package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter/gemini"
)

// ErrAway marks what Config.Ready says while the shared state does not answer: some
// calls may pass none the less.
var ErrAway = errors.New("the shared state is away")

// Passing says which calls pass while the shared state is away: those of callers that
// are known, of classes that have an allowance of this process's own. It fits
// Config.Local.
func Passing(t *gemini.Transport, k *Keys) func() string {
	return func() string {
		until := k.KnownUntil()
		if !k.now().Before(until) {
			return ""
		}
		var parts []string
		for class, a := range t.Soft() {
			parts = append(parts, fmt.Sprintf("%s (%d requests a minute)", class, a.PerMinute))
		}
		if slices.Sort(parts); len(parts) == 0 {
			return ""
		}
		return fmt.Sprintf("callers that are known pass by this process's own allowance, %s, until %s at most",
			strings.Join(parts, ", "), until.UTC().Format(time.TimeOnly+" MST"))
	}
}

// KnownUntil is until when some caller is known although Redis stays away; zero, or past,
// when nobody is.
func (k *Keys) KnownUntil() (until time.Time) {
	c := &k.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.kept {
		end := l.at.Add(stale)
		if e := l.identity.Expires; !e.IsZero() && e.Before(end) {
			end = e
		}
		if l.err == nil && end.After(until) {
			until = end
		}
	}
	return until
}
