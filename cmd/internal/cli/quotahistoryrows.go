package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// rowWaitMarks draw causes where there is no colour.
var rowWaitMarks = map[string]string{
	"queue": "·", "turn": "t", "quota": "q", "window": "w", "paused": "p", "health": "h", "spend": "$", "errors": "!", "slots": "s",
}

func rowWaitMark(cause string) string { return orElse(rowWaitMarks[cause], "?") }

// rowWaitWords say what rows waited in the mean, and what for.
func rowWaitWords(m historyMet) string {
	all := sumOf(m.RowsWaited)
	text := fmt.Sprintf("%s ended, which had waited %s in the mean", plural(int(m.RowsEnded), "row"), millis(all/m.RowsEnded))
	if all > 0 {
		text += fmt.Sprintf("; %s of it for: %s", percent(ratio(m.RowsWaited[0].N, all)), m.RowsWaited[0].Name)
	}
	return text + "."
}

func sumOf(counts []gemini.Count) (n int64) {
	for _, c := range counts {
		n += c.N
	}
	return n
}

// The chart of what rows waited: a line for each stretch of time, as long as what the
// rows had waited that ended in it.
const (
	rowStretches = 12
	rowBarWidth  = 46
)

// rowStretch is some steps of a history together.
type rowStretch struct {
	at    time.Time
	rows  int64
	waits []gemini.Count
}

// rowsChart draws what rows waited for as stacked bars, a mark for each cause; nothing
// where no row has waited.
func rowsChart(d *gemini.HistoryData, now time.Time) (out []string) {
	all := metBy(d.Total.Sum)
	if sumOf(all.RowsWaited) == 0 {
		return nil
	}
	list, per := rowStretchesOf(d)
	most := int64(1)
	for _, s := range list {
		most = max(most, sumOf(s.waits))
	}
	out = append(out, rowWaitWords(all), "What they had waited for, by when they ended, in steps of "+limiter.Length(per)+":")
	for _, s := range list {
		bar := rowBar(all.RowsWaited, s.waits, most)
		out = append(out, strings.TrimRight(fmt.Sprintf("  %-12s %-*s %s", clock(s.at, now), rowBarWidth, bar, s.words()), " "))
	}
	for some := range slices.Chunk(all.RowsWaited, 5) {
		out = append(out, "  "+rowLegend(some))
	}
	return append(out, "")
}

// words are how much and how many; "" where no row ended.
func (s rowStretch) words() string {
	if s.rows == 0 {
		return ""
	}
	return fmt.Sprintf("%10s  %s", millis(sumOf(s.waits)), plural(int(s.rows), "row"))
}

// rowStretchesOf joins the steps that have been into as many stretches as a page has
// lines for, and says how long each is.
func rowStretchesOf(d *gemini.HistoryData) (out []rowStretch, per time.Duration) {
	points := d.Total.Points
	if past := slices.IndexFunc(points, func(p gemini.UsageSample) bool { return !p.At.Before(d.Known) }); past > 0 {
		points = points[:past]
	}
	n := max(1, (len(points)+rowStretches-1)/rowStretches)
	for some := range slices.Chunk(points, n) {
		var sum gemini.UsageSample
		for _, p := range some {
			sum.Merge(p)
		}
		out = append(out, rowStretch{some[0].At, sum.RowsEnded(), sum.RowsWaitedFor()})
	}
	return out, time.Duration(n) * d.Step
}

// rowBar stacks a stretch's causes, in the order of all; most fills the width. What is
// left of a mark is carried to the next, so that the bar is as long as the whole.
func rowBar(all, waits []gemini.Count, most int64) string {
	var b strings.Builder
	sum, drawn := int64(0), 0
	for _, cause := range all {
		sum += countNamed(waits, cause.Name)
		to := int((2*sum*rowBarWidth + most) / (2 * most))
		b.WriteString(strings.Repeat(rowWaitMark(cause.Name), to-drawn))
		drawn = to
	}
	return b.String()
}

func rowLegend(all []gemini.Count) string {
	parts := make([]string, 0, len(all))
	for _, c := range all {
		parts = append(parts, rowWaitMark(c.Name)+" "+c.Name+" "+millis(c.N))
	}
	return strings.Join(parts, ", ")
}
