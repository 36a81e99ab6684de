package dashboard

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"nightshift/limiter"
)

// Measure is what a chart's figures are, and so how they are written.
type Measure string

// The measures.
const (
	Count   Measure = "count"
	Dollars Measure = "usd"
	Percent Measure = "percent" // 12.5 is 12.5 %
	Seconds Measure = "seconds"
)

// ChartView is one chart. Scripts draw it; the same figures stand under it as tables.
type ChartView struct {
	ID, Title string
	Of        string // what is shown: "requests a minute"
	Measure   Measure
	Stack     bool // the lines are parts of a whole
	Sum       bool // figures are amounts of a step, to be added up; else they are rates or levels
	From      time.Time
	Step      time.Duration
	Lines     []LineView
	Facts     []string // what there is to say of it, first things first
}

// LineView is one line of a chart.
type LineView struct {
	Name   string
	Values []float64 // one for each step; NaN is not known
	Whole  bool      // no part of the stack: a limit, drawn over it
	Total  string    // in all; "" has none
	Share  string    // of all lines
}

// chartJSON is what the script draws.
type chartJSON struct {
	Title   string     `json:"title"`
	Measure Measure    `json:"measure"`
	Stack   bool       `json:"stack"`
	From    int64      `json:"from"`   // Unix seconds
	Step    float64    `json:"step"`   // seconds
	Offset  int        `json:"offset"` // seconds that this machine's clock is ahead of UTC: all pages are by it
	Lines   []lineJSON `json:"lines"`
}

type lineJSON struct {
	Name   string            `json:"name"`
	Whole  bool              `json:"whole,omitempty"`
	Values []json.RawMessage `json:"values"`
}

// JSON is the chart for the script.
func (c ChartView) JSON() (string, error) {
	out := chartJSON{Title: c.Title, Measure: c.Measure, Stack: c.Stack, From: c.From.Unix(), Step: c.Step.Seconds(), Offset: offsetOf(c.From), Lines: []lineJSON{}}
	for _, l := range c.Lines {
		line := lineJSON{Name: cut(oneLine(printable(l.Name)), 80), Whole: l.Whole, Values: make([]json.RawMessage, 0, len(l.Values))}
		for _, v := range l.Values {
			line.Values = append(line.Values, digits(v))
		}
		out.Lines = append(out.Lines, line)
	}
	b, err := json.Marshal(out)
	return string(b), err
}

func offsetOf(t time.Time) int {
	_, seconds := t.Local().Zone()
	return seconds
}

// digits has as many digits as a chart can show.
func digits(v float64) json.RawMessage {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return json.RawMessage("null")
	}
	return json.RawMessage(strconv.FormatFloat(v, 'g', 5, 64))
}

// Empty says that there is nothing to draw.
func (c ChartView) Empty() bool {
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if v != 0 && !math.IsNaN(v) && !l.Whole {
				return false
			}
		}
	}
	return true
}

// Write writes a figure of the chart.
func (c ChartView) Write(v float64) string { return c.Measure.write(v) }

func (m Measure) write(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case m == Dollars:
		return limiter.Dollars(int64(math.Round(v * 1e6)))
	case m == Percent && v >= 900: // ten times and more: such percents are not read
		return amount(int64(math.Round(v/100))+1, false) + " times"
	case m == Percent:
		return limiter.Percent(v / 100)
	case m == Seconds:
		return shortDuration(time.Duration(v * float64(time.Second)))
	case math.Abs(v) < 10 && v != math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return amount(int64(math.Round(v)), false)
}

// Average is a line's mean over what is known of it.
func (c ChartView) Average(l LineView) string { return c.Write(mean(l.Values)) }

func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// Peak is a line's largest figure, with its time.
func (c ChartView) Peak(l LineView) string {
	best, at := math.Inf(-1), -1
	for i, v := range l.Values {
		if !math.IsNaN(v) && v > best {
			best, at = v, i
		}
	}
	if at < 0 || best == 0 {
		return "–"
	}
	return c.Write(best) + ", " + c.clock(at)
}

func (c ChartView) clock(step int) string {
	at := c.From.Add(time.Duration(step) * c.Step).Local()
	if c.Step < time.Minute {
		return at.Format("15:04:05")
	}
	return at.Format("Mon 15:04")
}

// Totals says whether the lines have anything in all.
func (c ChartView) Totals() bool {
	return slices.ContainsFunc(c.Lines, func(l LineView) bool { return l.Total != "" })
}

// Shares says whether any line has a part of the whole.
func (c ChartView) Shares() bool {
	return slices.ContainsFunc(c.Lines, func(l LineView) bool { return l.Share != "" })
}

// Summed says whether the lines are worth a table of their sums.
func (c ChartView) Summed() bool { return c.Totals() || len(c.Lines) > 1 }

// tableRows is how many rows the table of a chart has at most: several steps go into one.
const tableRows = 24

// ChartRow is some steps of a chart as a table has them.
type ChartRow struct {
	At    string
	Cells []string // by line
}

// Rows are the chart's figures over time.
func (c ChartView) Rows() (out []ChartRow) {
	n := 0
	for _, l := range c.Lines {
		n = max(n, len(l.Values))
	}
	per := max(1, (n+tableRows-1)/tableRows)
	for i := 0; i < n; i += per {
		row := ChartRow{At: c.clock(i)}
		for _, l := range c.Lines {
			row.Cells = append(row.Cells, c.Write(c.together(l, l.Values[min(i, len(l.Values)):min(i+per, len(l.Values))])))
		}
		out = append(out, row)
	}
	return out
}

// together is what several steps are as one.
func (c ChartView) together(l LineView, values []float64) float64 {
	v := mean(values)
	if !c.Sum || l.Whole || math.IsNaN(v) {
		return v
	}
	sum := 0.0
	for _, x := range values {
		if !math.IsNaN(x) {
			sum += x
		}
	}
	return sum
}

// TableNote says how long a row of the table is.
func (c ChartView) TableNote() string {
	n := 0
	for _, l := range c.Lines {
		n = max(n, len(l.Values))
	}
	per := time.Duration(max(1, (n+tableRows-1)/tableRows)) * c.Step
	words := "means of " + limiter.Length(per)
	if c.Sum {
		words = "sums of " + limiter.Length(per)
	}
	return words
}
