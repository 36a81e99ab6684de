package gemini

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hints are the times to come back that an answer gives. The larger wins:
// RetryInfo has been seen at 14 s beside a message that says 51 s.
type hints struct {
	longest time.Duration // 0: none that can be used
	header  bool          // only Retry-After says it
}

// longestHint is the most that is believed. More is nonsense or meant for people.
const longestHint = 7 * 24 * time.Hour

func (h *hints) add(d time.Duration, ok bool) {
	if ok {
		h.longest = max(h.longest, d)
	}
}

// find takes those of the details and of the text, which is in lower case.
func (h *hints) find(objects []object, text string, now time.Time) {
	for i := range objects {
		o := &objects[i]
		for j := range o.pairs {
			switch p := &o.pairs[j]; {
			case p.is("retryDelay", "retry_delay", "quotaResetDelay"):
				h.add(parseDelay(p.value))
			case p.is("quotaResetTimeStamp"):
				if at, err := time.Parse(time.RFC3339, p.value); err == nil {
					h.add(usable(at.Sub(now).Seconds()))
				}
			}
		}
		if o.name == "retryDelay" || o.name == "retry_delay" {
			h.add(parseDelay(o.get("seconds")))
		}
	}
	h.told(text, " in ")
	h.told(text, " after ")
}

// head takes Retry-After.
func (h *hints) head(head http.Header, now time.Time) {
	h.header = h.longest == 0
	h.add(retryAfter(head.Get("Retry-After"), now))
	h.header = h.header && h.longest > 0
}

// comesBack are the words before a time to come back at: "Please retry in 12.5s.",
// "will reset after 5h59m59s", "try again in 2 minutes".
var comesBack = []string{"retry", "again", "reset", "resets", "available"}

// told finds times in the text behind one of its prepositions.
func (h *hints) told(text, preposition string) {
	for {
		before, after, ok := strings.Cut(text, preposition)
		if !ok {
			return
		}
		for _, word := range comesBack {
			if strings.HasSuffix(before, word) {
				h.add(spokenDelay(after))
				break
			}
		}
		text = after
	}
}

// spokenUnits are the words for a unit behind a number.
var spokenUnits = map[string]time.Duration{
	"ms": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}

// spokenDelay reads the time that a text begins with: "12.5s. And …", "5h59m59s",
// "45", "10 minutes".
func spokenDelay(text string) (time.Duration, bool) {
	text = text[:min(len(text), 40)]
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789.hms", r) })
	if end < 0 {
		end = len(text)
	}
	number, rest := strings.TrimRight(text[:end], "."), strings.TrimLeft(text[end:], " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return parseDelay(number)
	}
	word := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = rest[:end]
	}
	if unit, ok := spokenUnits[word]; ok {
		n *= unit.Seconds()
	}
	return usable(n)
}

// parseDelay reads "45.8s", "5h59m59.9s" and "45".
func parseDelay(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return usable(n)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, false
	}
	return usable(d.Seconds())
}

// retryAfter reads the header's two forms, seconds and a date (RFC 9110, 10.2.3).
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	if at, err := http.ParseTime(s); err == nil {
		return usable(at.Sub(now).Seconds())
	}
	return parseDelay(s)
}

// usable rounds up to whole seconds, one at least, so that nobody spins on a
// hint of zero. Negative and endless ones are no hints.
func usable(seconds float64) (time.Duration, bool) {
	if math.IsNaN(seconds) || seconds < 0 || seconds > longestHint.Seconds() {
		return 0, false
	}
	return time.Duration(max(1, math.Ceil(seconds))) * time.Second, true
}
