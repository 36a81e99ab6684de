package cli

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// quotaReview is what some days say about limits, shares and estimates.
type quotaReview struct {
	From      time.Time        `json:"from"`
	To        time.Time        `json:"to"`
	Seen      time.Time        `json:"seen"` // the first call of these days; zero: none
	Estimates []estimateReview `json:"estimates"`
	Limits    []limitReview    `json:"limits"`
	Reserves  []reserveReview  `json:"reserves"`
	Refusals  []refusalReview  `json:"refusals"`
	Advice    []advice         `json:"advice"`
}

// estimateReview is how far a feature's estimates were off, over finished calls.
type estimateReview struct {
	Feature     string  `json:"feature"`
	Class       string  `json:"class"`
	Calls       int64   `json:"calls"`
	InputError  float64 `json:"input_error"` // 0.1: a tenth more was charged than the provider counted
	InputUnder  float64 `json:"input_under"` // part of the calls that were charged too little
	OutputError float64 `json:"output_error"`
	OutputUnder float64 `json:"output_under"`
}

// refusalReview is who was refused, by whom.
type refusalReview struct {
	Model       string `json:"model"`
	Class       string `json:"class"`
	Sent        int64  `json:"sent"`
	Provider429 int64  `json:"provider_429"`
	Refused     int64  `json:"refused"` // by us
}

// reviewInput is what a review is made of: hours, and where they are kept still
// minutes in their place.
type reviewInput struct {
	from, to time.Time
	hours    []gemini.UsageSample
	minutes  []gemini.UsageSample
	peaks    []scheduler.HourPeak // largest minutes of hours whose minutes are gone
	lanes    []limiter.LaneConfig
	classes  []limiter.Class
	levels   map[string][]int64 // limits of a lane by name, in each step of a chart; 0: not seen
}

// samples are the minutes, and the hours before them.
func (in reviewInput) samples() []gemini.UsageSample {
	all := slices.Concat(in.hours, in.minutes)
	slices.SortStableFunc(all, func(a, b gemini.UsageSample) int { return a.At.Compare(b.At) })
	return all
}

func newReview(in reviewInput) *quotaReview {
	all := in.samples()
	r := &quotaReview{From: in.from, To: in.to, Estimates: estimatesOf(all), Refusals: refusalsOf(all),
		Limits: []limitReview{}, Reserves: []reserveReview{}, Advice: []advice{}}
	if len(all) > 0 {
		r.Seen = all[0].At
	}
	for _, l := range in.lanes {
		r.Limits = append(r.Limits, in.limitsOf(l)...)
	}
	for i, c := range in.classes {
		if c.GuaranteePPM > 0 {
			r.Reserves = append(r.Reserves, in.reserveOf(i))
		}
	}
	r.advise(in)
	return r
}

// grouped adds samples up by two names, in the order of those.
func grouped(all []gemini.UsageSample, names func(gemini.UsageSample) [2]string) (keys [][2]string, sums map[[2]string]*gemini.UsageSample) {
	sums = map[[2]string]*gemini.UsageSample{}
	for _, s := range all {
		k := names(s)
		if sums[k] == nil {
			sums[k] = &gemini.UsageSample{}
			keys = append(keys, k)
		}
		sums[k].Merge(s)
	}
	slices.SortFunc(keys, func(a, b [2]string) int {
		return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
	})
	return keys, sums
}

func estimatesOf(all []gemini.UsageSample) []estimateReview {
	out := []estimateReview{}
	keys, sums := grouped(all, func(s gemini.UsageSample) [2]string { return [2]string{s.Feature, s.Class} })
	for _, k := range keys {
		if s := sums[k]; s.Measured > 0 {
			out = append(out, estimateReview{
				Feature: k[0], Class: k[1], Calls: s.Measured,
				InputError: excess(s.EstimatedInput, s.MeasuredInput), InputUnder: ratio(s.UnderInput, s.Measured),
				OutputError: excess(s.EstimatedOutput, s.MeasuredOutput), OutputUnder: ratio(s.UnderOutput, s.Measured),
			})
		}
	}
	return out
}

// excess is by how much of b a is more; 0 where there is no b.
func excess(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return ratio(a, b) - 1
}

func refusalsOf(all []gemini.UsageSample) []refusalReview {
	out := []refusalReview{}
	keys, sums := grouped(all, func(s gemini.UsageSample) [2]string { return [2]string{s.Model, s.Class} })
	for _, k := range keys {
		s := sums[k]
		out = append(out, refusalReview{Model: k[0], Class: k[1], Sent: s.Sent, Provider429: s.Provider429, Refused: s.Refused})
	}
	return out
}
