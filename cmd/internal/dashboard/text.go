package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
)

// How figures are written on the pages.

// amount is a figure with its thousands apart, from ten millions on shortened;
// micro-dollars are written as dollars.
func amount(n int64, micro bool) string {
	switch size := max(n, -n); {
	case micro:
		return fmt.Sprintf("$%.2f", float64(n)/1e6)
	case size < 1e7:
		return humanize.Comma(n)
	case size < 1e9:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f G", float64(n)/1e9)
}

func percent(f float64) string {
	if f > 0 && f < 0.01 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
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
	Parts []barPart
	Over  bool // more is used than there is
}

type barPart struct {
	Kind string // CSS class
	X, W float64
}

// newBar shows what of a limit is used, and what of the rest is protected.
func newBar(l LimitView) bar {
	b := bar{Over: l.Limit > 0 && l.Used > l.Limit}
	b.add(l.Limit, "used", l.Used)
	b.add(l.Limit, "kept", l.Protected)
	return b
}

func runBar(r RunView) bar {
	var b bar
	b.add(r.Total, "good", r.Good)
	b.add(r.Total, "bad", r.Bad)
	b.add(r.Total, "used", r.Running)
	return b
}

// add puts a part behind the others, as far as there is room.
func (b *bar) add(whole int64, kind string, n int64) {
	if whole <= 0 || n <= 0 {
		return
	}
	x := 0.0
	for _, p := range b.Parts {
		x = p.X + p.W
	}
	if w := min(100*float64(n)/float64(whole), 100-x); w > 0 {
		b.Parts = append(b.Parts, barPart{kind, math.Round(x*100) / 100, math.Round(w*100) / 100})
	}
}
