package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
)

// How figures are written on the pages.

// text is a parameter of a link or a form.
func text(v any) string { return fmt.Sprint(v) }

func rfc3339(t time.Time) string { return t.Format(time.RFC3339Nano) }

// printable leaves control characters out.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, s)
}

// badQuery says what is wrong with a page's address.
func badQuery(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadQuery}, a...)...)
}

// amount is a figure with its thousands apart, from ten millions on shortened;
// micro-dollars are written as dollars.
func amount(n int64, micro bool) string {
	switch size := max(n, -n); {
	case micro:
		return limiter.Dollars(n)
	case size < 1e7:
		return humanize.Comma(n)
	case size < 1e9:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f G", float64(n)/1e9)
}

// clock is a local time; with the date unless it is within a day.
func clock(t, now time.Time) string {
	switch d := t.Sub(now).Abs(); {
	case t.IsZero():
		return ""
	case d > 20*time.Hour:
		return t.Local().Format("2006-01-02 15:04")
	case d > time.Hour:
		return t.Local().Format("15:04")
	}
	return t.Local().Format("15:04:05")
}

// ago is how long before now.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return shortDuration(now.Sub(t))
}

// shortDuration has two units at most.
func shortDuration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// phases are the health monitor's in words that cannot be mistaken: it is bulk
// that yields and pauses.
var phases = map[string]string{
	"":        "not watched",
	"healthy": "healthy",
	"yield":   "unhealthy: bulk yields",
	"paused":  "unhealthy: bulk is paused",
	"ramp":    "recovered: bulk comes back",
	"trickle": "unhealthy, not by bulk: bulk trickles",
	"held":    "not judged: held by an operator",
}

func phaseWords(phase string) string { return cmp.Or(phases[phase], phase) }

func levelOf(l Level) string { return string(cmp.Or(l, Good)) }

// bar is a stacked bar of whole, drawn as SVG: no styles in the markup, which
// the content security policy would refuse.
type bar struct {
	Parts  barParts
	Booked barParts // by what waits, below the others
	Off    barPart  // at the end: what is not enforced
	Over   bool     // more is used than there is
}

type barParts []barPart

type barPart struct {
	Kind string // CSS class
	X, W float64
}

// newBar shows what of a limit as it was set is used, borrowed, kept and not
// enforced at all; what is left is free.
func newBar(l LimitView) bar {
	whole := max(l.Set, l.Effective)
	b := bar{Over: l.Effective > 0 && l.Used > l.Effective && !l.Shadow}
	b.add(whole, "used", l.Used-l.Borrowed)
	b.add(whole, "lent", l.Borrowed)
	b.add(whole, "kept", l.Reserved)
	b.Booked.add(whole, "booked", l.Booked)
	if off := whole - l.Effective; off > 0 && whole > 0 {
		w := 100 * float64(off) / float64(whole)
		b.Off = barPart{"off", round2(100 - w), round2(w)}
	}
	return b
}

func (b *bar) add(whole int64, kind string, n int64) { b.Parts.add(whole, kind, n) }

func runBar(r RunView) bar {
	var b bar
	b.add(r.Total, "good", r.Good)
	b.add(r.Total, "bad", r.Bad)
	b.add(r.Total, "used", r.Running)
	return b
}

// add puts a part behind the others, as far as there is room.
func (b *barParts) add(whole int64, kind string, n int64) {
	if whole <= 0 || n <= 0 {
		return
	}
	x := 0.0
	for _, p := range *b {
		x = p.X + p.W
	}
	if w := min(100*float64(n)/float64(whole), 100-x); w > 0 {
		*b = append(*b, barPart{kind, round2(x), round2(w)})
	}
}

func round2(x float64) float64 { return math.Round(x*100) / 100 }
