package gemini

import (
	"math"
	"net/http"
	"regexp"
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

// retryText is how messages say it: "Please retry in 12.5s.", "will reset after
// 5h59m59s", "retry in 18h28m".
var retryText = regexp.MustCompile(`(?i)(?:retry|try again|reset|resets|available)(?: again)? (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+|\d+(?:\.\d+)?)`)

func (h *hints) add(d time.Duration, ok bool) {
	if ok {
		h.longest = max(h.longest, d)
	}
}

// findHints collects them from the details, the text and the headers.
func findHints(objects []object, text string, head http.Header, now time.Time) (h hints) {
	for i := range objects {
		o := &objects[i]
		for _, name := range []string{"retryDelay", "retry_delay", "quotaResetDelay"} {
			h.add(parseDelay(o.get(name)))
		}
		if o.name == "retryDelay" || o.name == "retry_delay" {
			h.add(parseDelay(o.get("seconds")))
		}
		if at, err := time.Parse(time.RFC3339, o.get("quotaResetTimeStamp")); err == nil {
			h.add(usable(at.Sub(now).Seconds()))
		}
	}
	for _, m := range retryText.FindAllStringSubmatch(text, 16) {
		h.add(parseDelay(m[1]))
	}
	h.header = h.longest == 0
	h.add(retryAfter(head.Get("Retry-After"), now))
	h.header = h.header && h.longest > 0
	return h
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
