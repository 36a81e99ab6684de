package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"nightshift/jobs"
	"nightshift/limiter"
)

// stateWords are the rows by state, in the order of their way.
func stateWords(states map[string]int64) string {
	var c jobs.Counts
	for name, n := range states {
		c[jobs.ParseState(name)] = n
	}
	return countsLine(c)
}

// mostCauses have a line each on the page.
const mostCauses = 12

func (r *runReport) failedSection() pageSection {
	s := pageSection{Title: "What failed"}
	if len(r.Failed) == 0 {
		return s
	}
	s.Table = newTable("ROWS", "STATE", "CAUSE", "EXAMPLE", "WHAT IT SAYS").numeric(0)
	for i, c := range r.Failed {
		if i == mostCauses {
			s.Notes = append(s.Notes, fmt.Sprintf("%s of other causes: nightshift errors %s", rowsOf(r.restOf(i)), typed(r.Run)))
			break
		}
		s.Table.row(humanize.Comma(c.Rows), c.State, c.Cause, c.Example, text.Snip(firstLine(c.Message), 160, "…"))
	}
	return s
}

func (r *runReport) costSection() pageSection {
	s := pageSection{Title: "Cost"}
	p := r.Planned
	if r.Cost.Known {
		line := fmt.Sprintf("%s for %s", usd(r.Cost.MicroUSD), callsOf(r.Cost.Calls))
		if p != nil && p.Cost != nil {
			line += "; expected were " + plannedUSD(*p) + beside(r.Cost.MicroUSD, *p.Cost, r.Ended && !r.leftOff())
		}
		s.Text = append(s.Text, line+".")
		if words := r.uncounted(); words != "" {
			s.Notes = append(s.Notes, words)
		}
		if r.Run.Dropped > 0 {
			s.Notes = append(s.Notes, fmt.Sprintf("The calls of %s that left it by --update are in this.", rowsOf(r.Run.Dropped)))
		}
	} else if r.Good > 0 || p != nil {
		s.Text = append(s.Text, "What its calls cost is not known: nothing is counted for it.")
	}
	if r.Cost.Known || p != nil {
		s.Table = newTable("", "USED", "EXPECTED", "LEAST", "MOST").numeric(1, 2, 3, 4)
		row := func(what, used string, span *jobs.Span, show func(int64) string) {
			if span == nil {
				s.Table.row(what, used, "", "", "")
				return
			}
			s.Table.row(what, used, show(span.Mid), show(span.Low), show(span.High))
		}
		// Where nothing told how long answers get there is no likely figure, only the most.
		upTo := func(what, used string, span *jobs.Span, show func(int64) string) {
			if span == nil || p.Source != jobs.PlannedCap {
				row(what, used, span, show)
				return
			}
			s.Table.row(what, used, "-", show(span.Low), "up to "+show(span.High))
		}
		var in, out, money *jobs.Span
		if p != nil {
			in, out, money = &p.Input, &p.Output, p.Cost
		}
		row("input tokens", r.used(r.Cost.Input, humanize.Comma), in, humanize.Comma)
		upTo("output tokens", r.used(r.Cost.Output, humanize.Comma), out, humanize.Comma)
		upTo("cost", r.used(r.Cost.MicroUSD, usd), money, usd)
		s.Table.narrow(0)
	}
	if note := r.tierNote(); note != "" {
		s.Notes = append(s.Notes, note)
	}
	if limit := r.Run.Spec.Steer.MaxCost; limit > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("Its own cap is %s.", usd(limit)))
	}
	return s
}

// flushed is when workers have counted every call that has ended: they do each second.
const flushed = 10 * time.Second

// uncounted says which calls are in no count: those under way when their worker died,
// and those that it had not counted yet.
func (r *runReport) uncounted() string {
	unseen, lost := r.Cost.Unseen, max(0, r.Cost.Attempts-r.Cost.Calls-r.Cost.Unseen)
	switch {
	case unseen > 0 && lost > 0:
		return fmt.Sprintf("Not in this: up to %s whose answer was never seen, since their worker died, and %s that it died before counting. "+
			"Rows without an answer were asked again.", callsOf(unseen), humanize.Comma(lost))
	case unseen > 0:
		return fmt.Sprintf("Not in this: up to %s whose answer was never seen, since their worker died. Their rows were asked again.", callsOf(unseen))
	case lost > 0 && r.Ended && r.At.Sub(r.To) > flushed:
		return fmt.Sprintf("Not in this: %s that a worker made and died before counting.", callsOf(lost))
	}
	return ""
}

func (r *runReport) used(n int64, show func(int64) string) string {
	if !r.Cost.Known {
		return "?"
	}
	return show(n)
}

func callsOf(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return humanize.Comma(n) + " calls"
}

// plannedUSD is what was expected: of nothing but the longest answers only the most.
func plannedUSD(p jobs.Planned) string {
	if p.Source == jobs.PlannedCap {
		return "at most " + usd(p.Cost.High)
	}
	return spanUSD(*p.Cost)
}

func spanUSD(s jobs.Span) string {
	if s.Low == s.High {
		return usd(s.Mid)
	}
	return usd(s.Low) + " to " + usd(s.High)
}

// beside says how an amount lies to what was expected of all; one that is of a part is not judged for being less.
func beside(n int64, s jobs.Span, whole bool) string {
	switch {
	case n > s.High && s.High > 0:
		return fmt.Sprintf(", so that it is %.0f %% more than the most", 100*float64(n-s.High)/float64(s.High))
	case !whole:
		return " for all its rows"
	case n < s.Low:
		return fmt.Sprintf(", so that it is %.0f %% less than the least", 100*float64(s.Low-n)/float64(s.Low))
	}
	return ", so that it is within"
}

// waitCauses say what rows waited for.
var waitCauses = map[string]string{
	"queue": "for a worker", "turn": "for their turn behind others", "quota": "for quota", "slots": "for other calls to end (concurrency)", "window": "for the work window", "paused": "paused by a person",
	"health": "so that those who wait are well", "spend": "for money", "errors": "after failures, to try again",
}

func (r *runReport) waitSection() pageSection {
	s := pageSection{Title: "Where the time went"}
	if len(r.Waits) == 0 {
		return s
	}
	var sum int64
	for _, w := range r.Waits {
		sum += w.MS
	}
	s.Text = append(s.Text, "How long rows waited, added up over all of them; rows wait side by side, so that this is more than the night had.")
	head, rows := []string{"WAITED", "SHARE", "ROW-HOURS"}, max(1, r.Rows-r.Open-r.States[jobs.Cached.String()]-r.States[jobs.Cancelled.String()])
	if r.Run.Dropped > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s that left it by --update waited too, and are in this.", rowsOf(r.Run.Dropped)))
	} else {
		head = append(head, "A ROW") // the waits are of the rows that it has
	}
	s.Table = newTable(head...).numeric(1, 2, 3)
	for _, w := range r.Waits {
		cells := []any{orElse(waitCauses[w.Cause], w.Cause), percent(float64(w.MS) / float64(sum)), humanize.CommafWithDigits(float64(w.MS)/3_600_000, 1),
			limiter.Length(time.Duration(w.MS/rows) * time.Millisecond)}
		s.Table.row(cells[:len(head)]...)
	}
	return s
}

func (r *runReport) quotaSection() pageSection {
	s := pageSection{Title: "Quota over the time", Charts: r.Quota}
	s.Notes = append(s.Notes, r.dayNotes()...)
	if len(r.Quota)+len(r.Days) == 0 && r.Good > 0 {
		s.Notes = append(s.Notes, "How its limits were used is not kept any more, or they are not configured.")
	}
	return s
}

func (r *runReport) peopleSection() pageSection {
	s := pageSection{Title: "What those who wait saw meanwhile"}
	if len(r.People) == 0 {
		s.Text = append(s.Text, "Nobody else called.")
		return s
	}
	s.Table = newTable("CLASS", "CALLS", "REFUSED", "OWN LIMIT", "429S", "FAILED", "P95", "WORST P95", r.atHead()).numeric(1, 2, 3, 4, 5, 6, 7)
	for _, p := range r.People {
		at := ""
		if p.WorstMS > 0 {
			at = r.cell(p.WorstAt)
		}
		s.Table.row(p.Class, humanize.Comma(p.Calls), humanize.Comma(p.Refused), some(p.OwnLimit), humanize.Comma(p.Provider429), some(p.Failed),
			seconds(time.Duration(p.P95MS)*time.Millisecond), seconds(time.Duration(p.WorstMS)*time.Millisecond), at)
	}
	s.Table.narrow(0)
	s.Notes = append(s.Notes, "Refused is by us, for want of room; 429s are the provider's. The worst p95 is of the worst stretch of the chart.")
	return s
}

// some is a number that is worth a column only where it is not 0.
func some(n int64) string {
	if n == 0 {
		return ""
	}
	return humanize.Comma(n)
}

func (r *runReport) eventSection() pageSection {
	s := pageSection{Title: "What happened"}
	shown, left := r.shownEvents()
	if len(shown) == 0 {
		return s
	}
	s.Table = newTable(r.atHead(), "WHAT")
	for _, e := range shown {
		words := text.Snip(strings.ReplaceAll(firstLine(eventText(e.Event, r.location())), r.Run.ID, r.Run.Title()), 240, "…")
		if e.Times > 1 {
			words += fmt.Sprintf(" (%d times)", e.Times)
		}
		s.Table.row(r.cell(e.Happened()), words)
	}
	if left > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d more: nightshift events --since %s", left, r.From.In(time.Local).Format("2006-01-02T15:04")))
	}
	return s
}

func (r *runReport) unknownSection() pageSection {
	s := pageSection{Title: "Not known"}
	for _, u := range r.Unknown {
		s.Notes = append(s.Notes, strings.TrimRight(firstLine(u), "."))
	}
	return s
}
