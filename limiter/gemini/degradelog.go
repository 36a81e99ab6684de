package gemini

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// degradeLog says once a minute and reason how many calls got another answer.
// The zero value works.
type degradeLog struct {
	mu     sync.Mutex
	counts map[DegradeCause]*degradeCount // guarded by mu
	failed map[DegradeCause]*tally        // guarded by mu
}

type degradeCount struct {
	tally tally
	by    map[string]int64 // "chat by canned" → calls since the last line; guarded by degradeLog.mu
}

// degradeNames bounds what one line tells apart, since callers may choose the
// names of features.
const degradeNames = 20

// note counts one more, and logs when a line is due.
func (l *degradeLog) note(log *slog.Logger, feature string, d *Degradation, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[d.Reason]
	if c == nil {
		c = &degradeCount{by: map[string]int64{}}
		if l.counts == nil {
			l.counts = map[DegradeCause]*degradeCount{}
		}
		l.counts[d.Reason] = c
	}
	name := feature + " by " + string(d.Kind)
	if _, known := c.by[name]; !known && len(c.by) >= degradeNames {
		name = "others"
	}
	c.by[name]++
	if n, due := c.tally.note(now); due {
		log.Warn("calls are answered otherwise than by their model", "reason", string(d.Reason), "calls", n, "which", degradedWhich(c.by))
		clear(c.by)
	}
}

// degradedWhich is "412 of chat by canned, 3 of search by cached".
func degradedWhich(by map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d of %s", by[name], name))
	}
	return strings.Join(parts, ", ")
}

// complain logs what keeps the Degrader from finding an answer.
func (l *degradeLog) complain(log *slog.Logger, feature string, cause DegradeCause, err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.failed[cause]
	if t == nil {
		t = &tally{}
		if l.failed == nil {
			l.failed = map[DegradeCause]*tally{}
		}
		l.failed[cause] = t
	}
	if n, due := t.note(now); due {
		log.Warn("no other answer could be found", "reason", string(cause), "calls", n, "feature", feature, "error", clip(Redact(err.Error()), 300))
	}
}
