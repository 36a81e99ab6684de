package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// tracePattern is what a trace id looks like, whole or its beginning: ours have
// 32 hexadecimal digits, a caller's may be anything from 8 characters on.
var tracePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{8,64}$`)

// errFound ends the search through the call records.
var errFound = errors.New("found")

// trace explains one call by its trace id, from the call records of this
// machine. False: there is none of that name.
func (o *whyOptions) trace(conf *loaded) (bool, error) {
	if !tracePattern.MatchString(o.What) {
		return false, nil
	}
	var found *gemini.Record
	err := gemini.ReadRecords(conf.recordsDir(), o.now().Add(-conf.Records.Keep), func(r gemini.Record) error {
		if strings.HasPrefix(r.TraceID, o.What) {
			found = &r
			return errFound
		}
		return nil
	})
	if found == nil {
		return false, err
	}
	fmt.Fprintln(o.Out, traceSentence(*found, o.now()))
	return true, nil
}

func (l *loaded) recordsDir() string {
	return orElse(l.Records.Dir, filepath.Join(l.stateDir(), "records"))
}

// traceSentence is a call's record in words.
func traceSentence(r gemini.Record, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s call for %s", clock(r.Time, now), r.TraceID, r.Class, r.Feature)
	if lane, err := limiter.ParseLane(r.Lane); err == nil {
		fmt.Fprintf(&b, ", %s", lane.Model)
	}
	b.WriteString(routeWords(r))
	if r.Row != "" {
		fmt.Fprintf(&b, " (row %s, attempt %d)", r.Row, r.Attempt)
	}
	fmt.Fprintf(&b, "\n%s.", traceEnd(r))
	if r.WaitMS >= 10 {
		fmt.Fprintf(&b, "\nIt waited %s for its permit.", seconds(time.Duration(r.WaitMS)*time.Millisecond))
	}
	if u := r.Usage; u != nil {
		fmt.Fprintf(&b, "\nIt used %s tokens (estimated: %s).", humanize.Comma(u.Total), humanize.Comma(r.Estimate[limiter.TotalTokens]))
	}
	return b.String()
}

// traceEnd says how the call ended, and by whom.
func traceEnd(r gemini.Record) string {
	why := strings.TrimSpace(strings.Join([]string{r.Reason, r.Error}, ": "))
	why = strings.Trim(why, ": ")
	switch {
	case !r.Sent && r.Refusal != "":
		return fmt.Sprintf("Nightshift refused it, no call was made (%s): %s", limitOr(r.Limit, r.Refusal), orElse(why, string(r.Refusal)))
	case !r.Sent:
		return "No call was made: " + orElse(why, "the caller gave up")
	case r.Lent:
		return lentEnd(r, why)
	case r.Verdict != "":
		return fmt.Sprintf("The provider answered HTTP %d after %s: %s (%s)", r.Status, tookWords(r), orElse(why, "no reason given"), r.Verdict)
	}
	return fmt.Sprintf("Answered in %s (HTTP %d, finish %s)", tookWords(r), r.Status, orElse(strings.ToLower(r.Finish), "not said"))
}

// tookWords is how long a call took; records have no parts of a millisecond.
func tookWords(r gemini.Record) string {
	if r.TookMS <= 0 {
		return "less than a millisecond"
	}
	return seconds(time.Duration(r.TookMS) * time.Millisecond)
}

// lentEnd says what the maker of a call told that went out directly.
func lentEnd(r gemini.Record, why string) string {
	end := fmt.Sprintf("HTTP %d", r.Status)
	if r.Status == 0 {
		end = "no answer came, it is charged as one may have been"
	} else if r.Verdict != "" {
		end += fmt.Sprintf(": %s (%s)", orElse(why, "no reason given"), r.Verdict)
	}
	if r.TookMS > 0 {
		end += " after " + seconds(time.Duration(r.TookMS)*time.Millisecond)
	}
	return "It was made directly, under a permit of the gateway; its maker says: " + end
}

func limitOr(limit string, why limiter.Reason) string { return orElse(limit, string(why)) }
