package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
)

// reportPage is a report as people read it, before it is laid out for a terminal, as
// Markdown or as HTML.
type reportPage struct {
	Title    string
	Lead     string        // what came of it, in a sentence
	Facts    [][2]string   // what run this is
	Steps    []reportStep  // what to do; first on the page
	Sections []pageSection // those that have nothing to say are left out
	Foot     string
}

// pageSection is a heading with what is under it, in this order.
type pageSection struct {
	Title  string
	Text   []string
	Table  *dataTable
	Charts []reportQuota
	Notes  []string
}

// location is the zone of the times on the page.
func (r *runReport) location() *time.Location {
	if z, err := time.LoadLocation(r.Zone); r.Zone != "" && err == nil {
		return z
	}
	return time.Local
}

// clock is a time of the page, with its zone; the day stands with it where the run is of
// several, and seconds where it took some minutes.
func (r *runReport) clock(t time.Time) string { return r.cell(t) + t.In(r.location()).Format(" MST") }

// cell is the same in a table whose head says the zone.
func (r *runReport) cell(t time.Time) string {
	z, layout := r.location(), "15:04"
	if r.To.Sub(r.From) < nearby {
		layout = time.TimeOnly
	}
	if t.In(z).Format(time.DateOnly) == r.To.In(z).Format(time.DateOnly) {
		return t.In(z).Format(layout)
	}
	if d := r.To.Sub(t).Abs(); d < 6*24*time.Hour {
		return t.In(z).Format("Mon " + layout)
	}
	return t.In(z).Format("2006-01-02 15:04")
}

// atHead is the head of a column of such times.
func (r *runReport) atHead() string { return "AT (" + zoneName(r.location(), r.To) + ")" }

// page lays the report out.
func (r *runReport) page() reportPage {
	p := reportPage{Title: r.Run.Title(), Lead: r.lead(), Steps: r.Do, Facts: r.facts()}
	for _, s := range []pageSection{r.failedSection(), r.costSection(), r.waitSection(), r.quotaSection(), r.peopleSection(), r.eventSection(), r.unknownSection()} {
		if len(s.Text)+len(s.Charts)+len(s.Notes) > 0 || s.Table != nil {
			p.Sections = append(p.Sections, s)
		}
	}
	z := r.location()
	p.Foot = fmt.Sprintf("Made %s; times are in %s.", r.At.In(z).Format("2006-01-02 15:04:05"), zoneName(z, r.At))
	return p
}

// zoneName is what people call it: the machine's own has no name but its offset's.
func zoneName(z *time.Location, at time.Time) string {
	if z.String() == "Local" {
		return at.In(z).Format("MST")
	}
	return z.String()
}

// lead says what came of the run.
func (r *runReport) lead() string {
	rows := fmt.Sprintf("%s of %s rows are good", humanize.Comma(r.Good), humanize.Comma(r.Rows))
	if r.Good == r.Rows && r.Rows > 0 {
		rows = "all " + humanize.Comma(r.Rows) + " rows are good"
	}
	if r.Bad > 0 {
		rows += ", " + humanize.Comma(r.Bad) + " are not"
	}
	left := ""
	if r.Run.LeftOut > 0 {
		left = " " + leftOutWords(r.Run) + "."
	}
	if r.Ended {
		return fmt.Sprintf("Ended %s after %s: %s.", r.clock(r.To), limiter.Length(r.To.Sub(r.From)), rows) + left
	}
	s := fmt.Sprintf("Still open: %s, %s are to come (%s).", rows, humanize.Comma(r.Open), strings.TrimRight(orElse(r.Stands, r.Phase), "."))
	if !r.ETA.IsZero() {
		s += " Done about " + r.clock(r.ETA) + "."
	}
	return s + left
}

func (r *runReport) facts() [][2]string {
	f := [][2]string{
		{"input", fmt.Sprintf("%s, %s%s", r.Run.Input, rowsOf(r.Rows), besideWords(r.Run))},
		{"model", fmt.Sprintf("%s for %s, %s priority", r.Run.Spec.Model, r.Run.Spec.Feature, r.Run.Spec.Priority)},
		{"enqueued", r.clock(r.From)},
		{"rows", stateWords(r.States)},
	}
	if r.Run.Spec.Name != "" {
		f = append(f, [2]string{"id", r.Run.ID})
	}
	if p := r.Planned; p != nil && !p.Done.IsZero() && !r.cancelled() {
		f = append(f, [2]string{"expected end", r.clock(p.Done) + r.endWords(p.Done)})
	}
	if d := r.Run.Spec.Steer.Deadline; !d.IsZero() {
		f = append(f, [2]string{"deadline", r.clock(d) + r.deadlineWords(d)})
	}
	return f
}

// cancelled holds for a run of which a person wanted the rest no more.
func (r *runReport) cancelled() bool { return r.States[jobs.Cancelled.String()] > 0 }

// leftOff says that rows ended before they were done: what they would have cost was never spent.
func (r *runReport) leftOff() bool { return r.cancelled() || r.States[jobs.Expired.String()] > 0 }

// deadlineWords say how a deadline was kept, to the second: one that has passed with
// rows open is never on time, whatever is forecast.
func (r *runReport) deadlineWords(deadline time.Time) string {
	end, open := r.To, ""
	switch {
	case r.Ended && r.Missed > 0:
		return fmt.Sprintf(" (missed: %s ended at it)", rowsOf(r.Missed))
	case !r.Ended && r.To.After(deadline):
		open = fmt.Sprintf(", %s open", rowsOf(r.Open))
		if !r.ETA.IsZero() {
			open += ", done about " + r.clock(r.ETA)
		}
	case !r.Ended && r.ETA.IsZero():
		return " (when it is done is not known" + map[bool]string{true: ": it is " + r.Stands, false: " yet"}[r.Stands != ""] + ")"
	case !r.Ended:
		end, open = r.ETA, " by the forecast"
	}
	switch d := end.Sub(deadline).Round(time.Second); {
	case d > 0:
		return " (" + limiter.Length(d) + " late" + open + ")"
	case d < 0:
		return " (" + limiter.Length(-d) + " early" + open + ")"
	}
	return " (on time" + open + ")"
}

// besideWords are of the rows that a run does not have: any more, or as bad ones.
func besideWords(run jobs.Run) (words string) {
	if run.Dropped > 0 {
		words = fmt.Sprintf(" (%s more left it by --update)", humanize.Comma(run.Dropped))
	}
	if run.LeftOut > 0 {
		words += " (" + leftOutWords(run) + ")"
	}
	return words
}

// leftOutWords say how many rows of the input were bad, and where they are.
func leftOutWords(run jobs.Run) string {
	words := fmt.Sprintf("%s left out of it as invalid", rowsOf(run.LeftOut))
	if run.LeftIn != "" {
		words += ": " + run.LeftIn
	}
	return words
}

// endWords hold the end that was expected against what came of it: of a run that was
// stopped before it was through, no time of its end is early or late.
func (r *runReport) endWords(meant time.Time) string {
	switch {
	case r.Stands != "":
		return " (not reached: it is " + r.Stands + ", " + rowsOf(r.Open) + " open)"
	case r.Ended && r.Missed > 0:
		return " (not reached: its deadline ended " + rowsOf(r.Missed) + ")"
	}
	return r.lateWords(meant)
}

// lateWords hold a time that was meant against the one that came.
func (r *runReport) lateWords(meant time.Time) string {
	end := r.To
	if !r.Ended {
		if r.ETA.IsZero() {
			return ""
		}
		end = r.ETA
	}
	switch d := end.Sub(meant); {
	case d > time.Minute:
		return " (" + limiter.Length(d) + " late)"
	case d < -time.Minute:
		return " (" + limiter.Length(-d) + " early)"
	}
	return " (on time)"
}
