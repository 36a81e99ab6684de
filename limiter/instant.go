package limiter

import (
	"regexp"
	"strings"
	"time"
)

// Instant is a moment in a text that is kept or sent: RFC 3339 in UTC, to the second.
// Whoever shows the text to people puts their own clock in its place, with TellInstants.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

var instantPattern = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// TellInstants is a text with each Instant in it as tell has it.
func TellInstants(text string, tell func(time.Time) string) string {
	return instantPattern.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return s // the 31st of February: nobody's moment
		}
		return tell(t)
	})
}

// Earlier is the earlier of two moments.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Later is the later of two moments.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ShortDuration is a length of time without the smaller parts that are nothing: "4h",
// "5m", "1h30m", "90s" as "1m30s".
func ShortDuration(d time.Duration) string {
	s := d.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}
