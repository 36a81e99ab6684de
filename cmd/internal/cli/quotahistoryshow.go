package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/guptarohit/asciigraph"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

func (v *historyView) print(w io.Writer, d *gemini.HistoryData, now time.Time) {
	fmt.Fprintf(w, "%s%s from %s to %s, in steps of %s\n", v.unitWords(), ofModel(v.Model), clock(v.From, now), clock(limiter.Earlier(v.To, now), now), limiter.Length(d.Step))
	fmt.Fprintln(w, v.chart())
	fmt.Fprintln(w)
	v.table().render(w)
	fmt.Fprintln(w)
	for _, line := range rowsChart(d, now) {
		fmt.Fprintln(w, line)
	}
	for _, line := range append(v.Met.lines(), v.loanLines()...) {
		fmt.Fprintln(w, line)
	}
	for _, m := range v.Missing {
		if m.To.Sub(m.From) >= time.Minute {
			fmt.Fprintf(w, "Nothing is known of %s to %s: no process of the fleet was counting.\n", clock(m.From, now), clock(m.To, now))
		}
	}
	fmt.Fprintf(w, "\nWho had it while people waited:\n  nightshift quota who --from %s --to %s%s\n", v.From.Local().Format(time.RFC3339),
		limiter.Earlier(v.To, now).Local().Format(time.RFC3339), space(v.Model))
}

func space(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

var historyUnits = map[string]string{
	"rpm": "requests a minute", "input_tpm": "input tokens a minute", "output_tpm": "output tokens a minute", "total_tpm": "tokens a minute",
	"usd": "money", "calls": "calls", "429": "refusals of the provider", "refused": "refusals of the limiter", "queued": "rows put back into the line",
	"degraded": "calls that got another answer", "failed": "failures of the provider", "retried": "rows that came again", "cached_tokens": "input tokens from the provider's cache",
	"cache_saved_usd": "money saved by the provider's cache", "cached_answers": "answers that were kept", "reused_rows": "rows whose result was there already", "waited_ms": "time waited in place",
	"rows_ended": "rows that ended", "rows_waited_ms": "time that rows which ended had waited",
}

func (v *historyView) unitWords() string { return historyUnits[v.Unit] }

// amount writes an amount of the view's unit.
func (v *historyView) amount(n float64) string {
	switch {
	case v.Unit == "usd" || v.Unit == "cache_saved_usd":
		return usd(int64(n))
	case strings.HasSuffix(v.Unit, "waited_ms"):
		return limiter.Length(time.Duration(n) * time.Millisecond)
	case n < 10 && n != float64(int64(n)):
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return humanize.Comma(int64(n + 0.5))
}

// chart draws all use, and the largest group's below it; where there was none it says so.
func (v *historyView) chart() string {
	series, legend := [][]float64{v.Total.Points}, "line: all"
	if len(v.Groups) > 1 && v.Groups[0].Sum > 0 {
		series = append(series, v.Groups[0].Points)
		legend += ", dots: " + orElse(v.Groups[0].Name, "(none)")
	}
	switch {
	case len(v.Total.Points) == 0:
		return ""
	case v.Total.Peak == 0:
		return "Nothing of it in this time." // an axis would have no amounts
	}
	last := v.From.Add(time.Duration(len(v.Total.Points)-1) * time.Duration(v.StepMS) * time.Millisecond)
	opts := []asciigraph.Option{
		asciigraph.Height(8), asciigraph.Width(pageWidth - 14), asciigraph.LowerBound(0), asciigraph.UpperBound(max(1, v.Total.Peak)),
		asciigraph.YAxisValueFormatter(v.amount),
		asciigraph.SeriesChars(asciigraph.DefaultCharSet, asciigraph.CreateCharSet("·")),
	}
	if last.After(v.From) {
		layout := tickLayout(last.Sub(v.From), axisTicks)
		if last.Sub(v.From) > 36*time.Hour {
			layout = "Mon 15h"
		}
		opts = append(opts, asciigraph.XAxisRange(float64(v.From.Unix()), float64(last.Unix())), asciigraph.XAxisTickCount(axisTicks),
			asciigraph.XAxisValueFormatter(func(x float64) string { return time.Unix(int64(x), 0).Local().Format(layout) }))
	}
	return asciigraph.PlotMany(pad(series), opts...) + "\n      " + legend
}

func (v *historyView) table() *dataTable {
	t := newTable(strings.ToUpper(v.By), "IN ALL", "SHARE", "ON AVERAGE", "LARGEST STEP", "AT", "429S", "REFUSED", "COST").numeric(1, 2, 3, 4, 6, 7, 8)
	rows := v.Groups
	if len(rows) > 1 {
		all := v.Total
		all.Name = "all"
		rows = append(slices.Clone(rows), all)
	}
	for _, g := range rows {
		at := ""
		if g.Peak > 0 {
			at = clock(g.PeakAt, v.To)
		}
		t.row(orElse(g.Name, "(none)"), v.amount(float64(g.Sum)), percent(g.Share), v.amount(g.Avg), v.amount(g.Peak), at,
			humanize.Comma(g.Provider429), humanize.Comma(g.Refused), usd(g.MicroUSD))
	}
	return t
}

// historyColumns are the columns of --output csv after time and name.
var historyColumns = slices.Concat([]string{"requests", "input_tokens", "output_tokens", "total_tokens", "micro_usd"}, gemini.AmountNames()[5:],
	[]string{"estimated_input", "measured_input", "estimated_output", "measured_output"}, rowWaitColumns())

// rowWaitColumns are what rows waited for.
func rowWaitColumns() (out []string) {
	for _, cause := range jobs.WaitCauses() {
		out = append(out, "rows_waited_"+cause+"_ms")
	}
	return out
}

// csv writes a line for each step and group that has anything.
func (v *historyView) csv(w io.Writer, d *gemini.HistoryData) error {
	out := csv.NewWriter(w)
	_ = out.Write(append([]string{"time", v.By}, historyColumns...)) // Error below has it
	for i := range d.N {
		for _, g := range d.Groups {
			s := g.Points[i]
			line, any := []string{s.At.UTC().Format(time.RFC3339), csvSafe(g.Name)}, false
			for _, n := range csvNumbers(s) {
				line, any = append(line, strconv.FormatInt(n, 10)), any || n != 0
			}
			if any {
				_ = out.Write(line)
			}
		}
	}
	out.Flush()
	return out.Error()
}

func csvNumbers(s gemini.UsageSample) (out []int64) {
	for _, name := range gemini.AmountNames() {
		out = append(out, s.Amount(name))
	}
	out = append(out, s.EstimatedInput, s.MeasuredInput, s.EstimatedOutput, s.MeasuredOutput)
	waits := s.RowsWaitedFor()
	for _, cause := range jobs.WaitCauses() {
		out = append(out, countNamed(waits, cause))
	}
	return out
}
