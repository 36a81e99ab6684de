package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/guptarohit/asciigraph"
	"github.com/jedib0t/go-pretty/v6/text"

	"nightshift/limiter"
)

// pageWidth is what a report is laid out for on a terminal.
const pageWidth = 100

// leastPoints is how many steps are worth a chart; fewer are said by its caption.
const leastPoints = 4

// terminal writes the page as text.
func (p reportPage) terminal(w io.Writer, z *time.Location) {
	fmt.Fprintf(w, "%s\n%s\n", p.Title, wrap(p.Lead, 0))
	for _, s := range p.Steps {
		fmt.Fprintf(w, "\n%s\n", wrap("→ "+s.Why+colon(s), 2))
		if s.Command != "" {
			fmt.Fprintf(w, "    %s\n", s.Command)
		}
	}
	fmt.Fprintln(w)
	for _, f := range p.Facts {
		fmt.Fprintf(w, "%-13s %s\n", f[0], strings.TrimLeft(wrap(f[1], 14), " "))
	}
	for _, s := range p.Sections {
		s.terminal(w, z)
	}
	fmt.Fprintf(w, "\n%s\n", p.Foot)
}

// colon leads on to the command.
func colon(s reportStep) string {
	if s.Command == "" {
		return "."
	}
	return ":"
}

func (s pageSection) terminal(w io.Writer, z *time.Location) {
	fmt.Fprintf(w, "\n%s\n%s\n", s.Title, strings.Repeat("─", text.StringWidthWithoutEscSequences(s.Title)))
	for _, t := range s.Text {
		fmt.Fprintln(w, wrap(t, 0))
	}
	if s.Table != nil {
		s.Table.wrapLast(pageWidth)
		s.Table.render(w)
	}
	for i, c := range s.Charts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, wrap(c.caption(z), 0))
		if len(c.Points) >= leastPoints {
			fmt.Fprintln(w, c.ascii(z))
		}
	}
	for _, n := range s.Notes {
		fmt.Fprintln(w, wrap(n, 0))
	}
}

// wrap breaks a line between words; those after the first are set in.
func wrap(s string, in int) string {
	lines := strings.Split(text.WrapSoft(s, pageWidth-in), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", in))
}

// wrapLast breaks the last column, so that the table is at most so wide.
func (t *dataTable) wrapLast(most int) {
	c := len(t.head) - 1
	over := t.width() - most
	if over <= 0 || c < 0 {
		return
	}
	widest := text.LongestLineLen(t.head[c])
	for _, r := range t.rows {
		widest = max(widest, text.LongestLineLen(r[c]))
	}
	for _, r := range t.rows {
		r[c] = text.WrapSoft(r[c], max(24, widest-over))
	}
}

// caption says in a sentence what the chart shows.
func (q reportQuota) caption(z *time.Location) string {
	limit := humanize.Comma(q.Amount)
	if q.Least != q.Amount {
		limit = humanize.Comma(q.Least) + " to " + limit
	}
	return fmt.Sprintf("%s of %s, limit %s: %s used on average, %s at most (%s). One step is %s.", q.Limit, q.Model, limit,
		percent(q.Average), percent(q.Peak), q.PeakAt.In(z).Format("Mon 15:04 MST"), limiter.Length(time.Duration(q.StepMS)*time.Millisecond))
}

// axisTicks is how many times a chart of text has.
const axisTicks = 5

// ascii draws all use, and below it that of people, in percent of the limit.
func (q reportQuota) ascii(z *time.Location) string {
	all, people := make([]float64, len(q.Points)), make([]float64, len(q.Points))
	for i, p := range q.Points {
		all[i], people[i] = 100*(p.Bulk+p.People), 100*p.People
	}
	series, legend := [][]float64{all}, ""
	if q.hasPeople() {
		series, legend = append(series, people), "\n      line: all, dots: those who wait"
	}
	first, last := q.Points[0].At, q.Points[len(q.Points)-1].At
	layout := tickLayout(last.Sub(first), axisTicks)
	return asciigraph.PlotMany(pad(series), asciigraph.Height(int(q.top(10)/10)), asciigraph.Width(pageWidth-10), asciigraph.LowerBound(0), asciigraph.UpperBound(q.top(10)),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%.0f %%", v) }),
		asciigraph.XAxisRange(float64(first.Unix()), float64(last.Unix())), asciigraph.XAxisTickCount(axisTicks),
		asciigraph.XAxisValueFormatter(func(v float64) string { return time.Unix(int64(v), 0).In(z).Format(layout) }),
		asciigraph.SeriesChars(asciigraph.DefaultCharSet, asciigraph.CreateCharSet("·"))) + legend
}

// pad makes a line of a single point.
func pad(series [][]float64) [][]float64 {
	for i, s := range series {
		if len(s) == 1 {
			series[i] = append(s, s[0])
		}
	}
	return series
}

func (q reportQuota) hasPeople() bool {
	for _, p := range q.Points {
		if p.People > 0 {
			return true
		}
	}
	return false
}
