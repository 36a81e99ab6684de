package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// planTable is what a person reads before going home.
func planTable(r planReport, b *batch, count int64, now time.Time) *dataTable {
	t := newTable("PLAN", "")
	t.row("rows", humanize.Comma(r.Rows)+validRows(r.Bad))
	if r.Stand != nil {
		r.Stand.rows(t)
	}
	if r.Duplicates > 0 {
		words := humanize.Comma(r.Duplicates) + " ask the same as another row, and each is paid"
		if r.Duplicates == count {
			words += ": " + repeatNames(r.Repeated)
		} else {
			words += "; with those that are answered already, " + repeatNames(r.Repeated)
		}
		t.row("", words)
	}
	t.row("model", fmt.Sprintf("%s, for %s", r.Model, b.Spec.Feature))
	t.row("input", tokensLine(r.Input))
	if b.Spec.Kind != jobs.Embed {
		t.row("output", r.outputLine())
	}
	r.costRows(t)
	r.priceRows(t, now)
	r.timeRows(t, now)
	r.Update.rows(t, b.Name)
	refusedRow(t, r.Refused)
	if r.Unknown != "" {
		t.row("but", "other runs, pauses and what was done before are not looked at: "+r.Unknown)
	}
	return t
}

// tokensLine is a span in words.
func tokensLine(s jobs.Span) string {
	if s.Low == s.High {
		return short(s.Mid) + " tokens"
	}
	return fmt.Sprintf("%s to %s tokens, likely %s", short(s.Low), short(s.High), short(s.Mid))
}

// short is a number that is read, not copied.
func short(n int64) string {
	if n < 10_000 {
		return humanize.Comma(n)
	}
	v, prefix := humanize.ComputeSI(float64(n))
	digits := 0 // three in all
	for m := v; m < 100; m *= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, v) + prefix
}

func (n need) outputLine() string {
	if n.Source == jobs.PlannedCap {
		return fmt.Sprintf("not known yet; at most %s tokens (--max-output-tokens bounds it). nightshift sample tells", short(n.Output.High))
	}
	return tokensLine(n.Output) + ", by " + n.From
}

func (r planReport) costRows(t *dataTable) {
	if len(r.Tiers) == 0 {
		t.row("cost", "no price is known for "+r.Model+": nightshift spend price says what to do")
		return
	}
	for i, c := range r.Tiers {
		head := ""
		if i == 0 {
			head = "cost"
		}
		line := fmt.Sprintf("%-9s %s", c.Tier, costLine(c.Cost, r.Source))
		switch {
		case c.Used:
			line += "  <- this run"
		case c.Tier == "batch":
			line += "  (the Batch API, not sent from here)"
		}
		t.row(head, line)
	}
	r.capRows(t)
}

// dayRows names those that the run does not end at: of its own cap whoever enqueues is
// warned, with what to do.
func (r planReport) dayRows(t *dataTable) {
	r.Caps = slices.DeleteFunc(slices.Clone(r.Caps), func(c capNote) bool { return c.Cap == ownCapName })
	r.capRows(t)
}

// capRows names the limits in money that the rows may not fit.
func (r planReport) capRows(t *dataTable) {
	for _, c := range r.Caps {
		words := "about %s of the rows"
		switch {
		case c.Day && r.Source == jobs.PlannedCap:
			words = "%s or more of the rows a day, and the end is later the longer answers are"
		case c.Day:
			words = "about %s of the rows today"
		}
		t.row("but", fmt.Sprintf("%s leaves %s: "+words, c.Cap, usd(c.Left), humanize.Comma(c.Rows)))
	}
}

// usdSpan prints the ends of a span and what is between, each as if it stood alone, as
// long as that tells them apart.
func usdSpan(s jobs.Span) (low, mid, high string) {
	low, mid, high = usd(s.Low), usd(s.Mid), usd(s.High)
	if low == mid && s.Low != s.Mid || mid == high && s.Mid != s.High {
		words := usdApart(s.Low, s.Mid, s.High)
		return words[0], words[1], words[2]
	}
	return low, mid, high
}

// costLine is a span of money in words; without any word of the answers' length
// there is no likely figure.
func costLine(s jobs.Span, source string) string {
	low, mid, high := usdSpan(s)
	switch {
	case s.Low == s.High:
		return usd(s.Mid)
	case source == jobs.PlannedCap:
		return fmt.Sprintf("%s for the input, up to %s with the answers", low, high)
	}
	return fmt.Sprintf("%s to %s, likely %s", low, high, mid)
}

func (r planReport) timeRows(t *dataTable, now time.Time) {
	if r.Limit != "" {
		t.row("needs", fmt.Sprintf("%s of the limits (%s binds), with %.0f %% of each for bulk", r.needsWords(), r.Limit, r.Share*100))
	}
	if r.Others > 0 {
		t.row("beside", plural(r.Others, "open run")+" in the same lane")
	}
	if r.Hold != "" {
		t.row("held", r.Hold)
	}
	if words := r.windowLine(now); words != "" {
		t.row("window", words)
	}
	t.row("done", r.doneLine(now))
	if words := r.flexLine(now); words != "" {
		t.row("by flex", words)
	}
	if r.Deadline.IsZero() {
		return
	}
	t.row("deadline", r.deadlineLine(now))
	for i, w := range r.Ways {
		head := ""
		if i == 0 {
			head = "to make it"
		}
		line := w.What + ": done " + r.clock(w.Done, now)
		if w.Do != "" {
			line += "  (" + w.Do + ")"
		}
		t.row(head, line)
	}
}

func (r planReport) needsWords() string {
	of := func(seconds int64) string { return ago(time.Duration(seconds) * time.Second) }
	if r.NeedsSpan == nil {
		return of(r.Needs)
	}
	return fmt.Sprintf("%s to %s, likely %s,", of(r.NeedsSpan[0]), of(r.NeedsSpan[1]), of(r.Needs))
}

// clock is a moment by the run's clock, as a deadline is typed and read.
func (r planReport) clock(t, now time.Time) string {
	return clockIn(t, now, jobs.Steering{Zone: r.Zone}.Location(time.Local))
}

func (r planReport) doneLine(now time.Time) string {
	if !r.Known {
		return "not known: " + orElse(r.Hold, "at this rate it takes more than 60 days")
	}
	if r.Done.Sub(now) < time.Second {
		return "within seconds: no limit holds it up"
	}
	s := fmt.Sprintf("%s, %s from now", r.clock(r.Done, now), ago(r.Done.Sub(now)))
	if r.DoneSpan != nil {
		s += fmt.Sprintf(" (between %s and %s)", ago(r.DoneSpan[0].Sub(now)), ago(r.DoneSpan[1].Sub(now)))
	}
	if r.Resets > 0 {
		s += fmt.Sprintf(", over %s", plural(r.Resets, "Pacific midnight"))
	}
	return s
}

func (r planReport) deadlineLine(now time.Time) string {
	at := r.clock(r.Deadline, now)
	switch {
	case !r.Known:
		return at + ": nobody can say whether it is made"
	case r.Late > 0:
		s := fmt.Sprintf("%s: missed by %s", at, ago(time.Duration(r.Late)*time.Second))
		if len(r.Ways) == 0 {
			s += "; no single change makes it"
		}
		return s
	}
	if r.Latest.After(r.Deadline) {
		return at + ": made if flex is quick, missed by " + ago(r.Latest.Sub(r.Deadline)) + " if it is as slow as it may be"
	}
	return fmt.Sprintf("%s: made, with %s to spare", at, ago(r.Deadline.Sub(later(r.Done, r.Latest))))
}
