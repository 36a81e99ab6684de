package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// historyMet is what the calls of an interval met.
type historyMet struct {
	Refused       []gemini.Count `json:"refused_by"`      // by us: the limit and whose it is
	ProviderBy    []gemini.Count `json:"provider_429_by"` // the provider's reasons
	Retried       []gemini.Count `json:"came_again_for"`  // rows that a worker had begun
	Waited        []gemini.Count `json:"waited_ms_for"`   // callers in place
	RowsWaited    []gemini.Count `json:"rows_waited_ms_for"`
	RowsEnded     int64          `json:"rows_ended"`        // whose waits these are, from enqueue to the last permit
	DegradedBy    []gemini.Count `json:"degraded_for"`      // calls that got another answer, by cause
	Measured      int64          `json:"measured"`          // answers whose estimate is compared
	InputError    float64        `json:"input_error"`       // estimate against usage: 0.1 is a tenth too much
	OutputError   float64        `json:"output_error"`      //
	UnderInput    float64        `json:"input_too_little"`  // part of them that had less charged than they took
	UnderOutput   float64        `json:"output_too_little"` //
	InputTokens   int64          `json:"input_tokens"`
	CachedTokens  int64          `json:"cached_tokens"`
	CacheSaved    int64          `json:"cache_saved_micro_usd"`
	CachedAnswers int64          `json:"cached_answers"`
	ReusedRows    int64          `json:"reused_rows"`
}

func metBy(s gemini.UsageSample) historyMet {
	m := historyMet{
		Refused: s.RefusedBy(), ProviderBy: s.RefusedThere(), Retried: s.Retried(), Waited: s.WaitedFor(), RowsWaited: s.RowsWaitedFor(), RowsEnded: s.RowsEnded(),
		Measured: s.Measured, InputError: ratio(s.EstimatedInput-s.MeasuredInput, s.MeasuredInput), OutputError: ratio(s.EstimatedOutput-s.MeasuredOutput, s.MeasuredOutput),
		UnderInput: ratio(s.UnderInput, s.Measured), UnderOutput: ratio(s.UnderOutput, s.Measured), InputTokens: s.InputTokens, CachedTokens: s.CachedTokens,
		CacheSaved: s.CacheSavedMicroUSD, CachedAnswers: s.Amount("cached_answers"), ReusedRows: s.ReusedRows,
	}
	for cause, n := range s.DegradedByCause() {
		m.DegradedBy = append(m.DegradedBy, gemini.Count{Name: string(cause), N: n})
	}
	return m
}

// lines say it; what did not happen is left out.
func (m historyMet) lines() (out []string) {
	say := func(title, text string) {
		if text != "" {
			out = append(out, fmt.Sprintf("%-28s %s", title, text))
		}
	}
	say("refused or queued by us for", countWords(m.Refused, number))
	say("refused by the provider for", countWords(m.ProviderBy, number))
	say("rows that came again for", countWords(m.Retried, number))
	say("waited in place for", countWords(m.Waited, millis))
	say("got another answer for", countWords(m.DegradedBy, number))
	if m.Measured > 0 {
		say("estimates", fmt.Sprintf("input %s, output %s; too little in %s and %s of %s answers", signed(m.InputError), signed(m.OutputError),
			percent(m.UnderInput), percent(m.UnderOutput), humanize.Comma(m.Measured)))
	}
	say("caches", m.cacheWords())
	return out
}

func (m historyMet) cacheWords() string {
	var parts []string
	if m.CachedTokens > 0 {
		parts = append(parts, fmt.Sprintf("the provider's had %s of %s input tokens, saving %s", humanize.Comma(m.CachedTokens), humanize.Comma(m.InputTokens), usd(m.CacheSaved)))
	}
	if m.CachedAnswers > 0 {
		parts = append(parts, fmt.Sprintf("%s kept answers were given", humanize.Comma(m.CachedAnswers)))
	}
	if m.ReusedRows > 0 {
		parts = append(parts, fmt.Sprintf("%s rows took the result they had", humanize.Comma(m.ReusedRows)))
	}
	return strings.Join(parts, "; ")
}

func number(n int64) string { return humanize.Comma(n) }

func millis(n int64) string {
	d := time.Duration(n) * time.Millisecond
	if d < time.Second { // a short wait is none the less one
		return limiter.Length(d)
	}
	return limiter.Length(d.Round(time.Second))
}

// countWords are counts in a line: "lane rpm 812, paused 3".
func countWords(counts []gemini.Count, write func(int64) string) string {
	parts := make([]string, 0, len(counts))
	for i, c := range counts {
		if i == 6 && len(counts) > 7 {
			parts = append(parts, fmt.Sprintf("and %d more", len(counts)-i))
			break
		}
		parts = append(parts, c.Name+" "+write(c.N))
	}
	return strings.Join(parts, ", ")
}

// historyLevels is what was on loan of a limit.
type historyLevels struct {
	Limit    string         `json:"limit"`
	Class    string         `json:"class"` // "" is the lane, or all lanes: only limits and use
	Points   []gemini.Level `json:"points"`
	lent     float64
	borrowed float64
	back     int64
	recalls  int // points in which something was taken back
}

// levelsOf keeps those of a unit; of one that no limit is of, the requests'.
func levelsOf(all []gemini.LevelSeries, unit string) (out []historyLevels) {
	if !perMinute(unit) {
		unit = "rpm"
	}
	for _, l := range all {
		if l.Limit != unit {
			continue
		}
		x, looks := historyLevels{Limit: l.Limit, Class: l.Class, Points: l.Points}, 0
		for _, p := range l.Points {
			if p != (gemini.Level{}) {
				looks++
			}
			x.lent, x.borrowed, x.back = x.lent+float64(p.Lent), x.borrowed+float64(p.Borrowed), x.back+p.Revoked
			if p.Revoked > 0 {
				x.recalls++
			}
		}
		x.lent, x.borrowed = x.lent/float64(max(1, looks)), x.borrowed/float64(max(1, looks))
		out = append(out, x)
	}
	return out
}

// loanLines say who lent and who borrowed.
func (v *historyView) loanLines() (out []string) {
	for _, l := range v.Levels {
		var parts []string
		if l.lent >= 1 {
			parts = append(parts, fmt.Sprintf("lent %s on average", humanize.Comma(int64(l.lent))))
		}
		if l.borrowed >= 1 {
			parts = append(parts, fmt.Sprintf("borrowed %s on average", humanize.Comma(int64(l.borrowed))))
		}
		if l.recalls > 0 {
			parts = append(parts, fmt.Sprintf("took %s back in %s", humanize.Comma(l.back), plural(l.recalls, "step")))
		}
		if l.Class != "" && len(parts) > 0 {
			out = append(out, fmt.Sprintf("%-28s %s", "loans of "+l.Limit+": "+l.Class, strings.Join(parts, ", ")))
		}
	}
	return out
}
