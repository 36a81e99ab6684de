package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
)

// What a review needs before it advises to give something away: a day. What it
// warns of needs as many calls.
const (
	reviewSpan  = 24 * time.Hour
	reviewCalls = 50
)

// Thresholds of the advice. The provider's refusals are healthy below a
// thousandth; estimates are good when one call in twenty is charged too little
// (design 4.6), and costly when they hold half as much again as is used.
const (
	refusedTooOften = 0.001
	underTooOften   = 0.05
	overTooMuch     = 0.5
)

func (r *quotaReview) add(level, command, format string, a ...any) {
	r.Advice = append(r.Advice, advice{level, fmt.Sprintf(format, a...), command})
}

// advise says what to change, what hurts somebody first.
func (r *quotaReview) advise(in reviewInput) {
	r.adviseRefusals()
	r.adviseEstimates(in)
	if !r.Seen.IsZero() && r.To.Sub(r.Seen) >= reviewSpan {
		r.adviseReserves()
		r.adviseOutside(in)
	}
	slices.SortStableFunc(r.Advice, func(a, b advice) int { return strings.Compare(b.Level, a.Level) }) // warn, note
}

func (r *quotaReview) advised(text string) bool {
	return slices.ContainsFunc(r.Advice, func(a advice) bool { return a.Text == text })
}

func (r *quotaReview) refusals(model string) (sent, refused int64) {
	for _, f := range r.Refusals {
		if f.Model == model {
			sent, refused = sent+f.Sent, refused+f.Provider429
		}
	}
	return sent, refused
}

func (r *quotaReview) adviseRefusals() {
	told := map[string]bool{}
	for _, f := range r.Refusals {
		sent, refused := r.refusals(f.Model)
		if share := ratio(refused, sent); !told[f.Model] && sent >= reviewCalls && share > refusedTooOften {
			r.add("warn", "nightshift quota set "+shellWord(f.Model)+" outside=10%",
				"the provider refused %s of the calls to %s that we had admitted: others use its quota, or its limits are lower than what is set",
				percent(share), f.Model)
		}
		told[f.Model] = true
	}
}

// outputCounts tells whether output that is held and not used keeps anybody out.
func (in reviewInput) outputCounts() bool {
	return slices.ContainsFunc(in.lanes, func(l limiter.LaneConfig) bool {
		return max(l.Limits.OutputTPM, l.Limits.TotalTPM, l.Limits.USDPer10m, l.Limits.USDPerDay, l.Limits.USDPerMonth) > 0
	})
}

func (r *quotaReview) adviseEstimates(in reviewInput) {
	for _, e := range r.Estimates {
		switch {
		case e.Calls < reviewCalls:
		case max(e.InputUnder, e.OutputUnder) > underTooOften:
			r.add("warn", "", "%s of %s's calls took more than they were charged for; others pay for it until the window turns",
				percent(max(e.InputUnder, e.OutputUnder)), e.Feature)
		case e.OutputError > overTooMuch && in.outputCounts():
			r.add("note", "", "%s holds more output than it uses (%s): a smaller maxOutputTokens lets more of it through", e.Feature, signed(e.OutputError))
		case e.InputError > overTooMuch:
			r.add("note", "", "%s is charged more input than it has (%s)", e.Feature, signed(e.InputError))
		}
	}
}

func (r *quotaReview) adviseReserves() {
	for _, v := range r.Reserves {
		set := fmt.Sprintf("nightshift quota set class/%s guarantee=%.0f%%", v.Class, v.Enough*100)
		switch {
		case v.Model == "":
			r.add("note", fmt.Sprintf("nightshift quota set class/%s guarantee=0%%", v.Class), "%s", v.sentence(r.To))
		case v.Refused > 0 && v.Enough > v.Guarantee:
			r.add("warn", set, "%s", v.sentence(r.To))
		case v.Enough < v.Guarantee && v.Refused == 0:
			r.add("note", set, "%s", v.sentence(r.To))
		}
	}
}

// Of what is left outside, two per cent stay: nobody knows who calls tomorrow.
const leastOutside = 0.02

func (r *quotaReview) adviseOutside(in reviewInput) {
	outside := map[string]float64{}
	for _, l := range in.lanes {
		outside[l.Lane.Model] = float64(l.OutsidePPM) / ppm
	}
	for _, l := range r.Limits {
		sent, refused := r.refusals(l.Model)
		if now := outside[l.Model]; l.Binds && now > leastOutside && sent >= reviewCalls && refused == 0 && l.Peak > 0.9*(1-now) {
			r.add("note", fmt.Sprintf("nightshift quota set %s outside=%.0f%%", shellWord(l.Model), leastOutside*100),
				"%s was used up to %s of its %s and the provider refused nothing: nobody seems to use the %s that are left outside",
				l.Model, shareText(l.Peak), l.Limit, shareText(now))
		}
	}
}
