package gemini

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// slowCall is the p95 at which the scheduler's default takes callers for slowed down.
const slowCall = 3500 * time.Millisecond

// WhoQuery asks who used the quota.
type WhoQuery struct {
	From, To time.Time
	By       GroupBy  // GroupFeature (default), GroupTenant, or GroupClass, whose rows have the class as their name
	Model    string   // "" is all
	Waiting  []string // classes whose callers wait for their answers: those that suffer
	// Slow is the p95 of a minute above which callers who wait suffer; default 3.5 s.
	Slow time.Duration
}

// Who is the ranking: the table that finds the culprit.
type Who struct {
	From, To time.Time        // as asked; whole steps are counted
	Step     time.Duration    // of peaks: a minute, five for what is older than two days
	Rows     []WhoRow         // the largest part of any unit first
	Limits   map[string]int64 // by unit a minute: the mean of the limit while it was looked at; none where nobody did
	Overlap  *Overlap         // nil when no caller who waits suffered
	Waiting  UsageSample      // the calls of those who wait, together
	Samples  []UsageSample    // by feature, behind it; of no model where none was asked for
}

// WhoRow is what one feature or tenant used as one class.
type WhoRow struct {
	Name, Class string
	Sum         UsageSample
	Use         []UnitUse // by UnitNames
}

// UnitUse is what was used of a unit.
type UnitUse struct {
	Unit  string `json:"unit"` // "rpm", "input_tpm", "output_tpm", "total_tpm", "usd" in micro-dollars
	Sum   int64  `json:"sum"`
	Share int64  `json:"share_ppm"`   // of what all used, in millionths
	Avg   int64  `json:"avg_milli"`   // a minute, in thousandths
	Peak  int64  `json:"peak"`        // of the largest minute; the mean of five where these are the steps
	OfAvg int64  `json:"avg_of_ppm"`  // of the limit, in millionths; 0 where it has none or it is not known
	OfMax int64  `json:"peak_of_ppm"` //
}

// Overlap is what the minutes have in common in which callers who wait were refused or
// slow.
type Overlap struct {
	Minutes     int64 // so many: how long, in whole minutes
	First, Last time.Time
	Refused     int64 // calls of those who wait, for quota that others may have taken: by us and by the provider
	ByProvider  int64 // of these
	Slow        int64 // minutes that were only slow
	Rows        []WhoRow
	Others      []UnitUse // what those who do not wait used then, together
}

// Who ranks the users of an interval. It is what `quota who` and the page show.
func (h *History) Who(ctx context.Context, q WhoQuery) (*Who, error) {
	q.By = cmp.Or(q.By, GroupFeature)
	samples, step, err := h.features(ctx, q)
	if err != nil {
		return nil, err
	}
	users := samples
	switch q.By {
	case GroupClass:
		users = slices.Clone(samples)
		for i := range users {
			users[i].Feature = users[i].Class
		}
	case GroupTenant:
		if users, step, err = h.samples(ctx, GroupTenant, q.From, q.To); err != nil {
			return nil, err
		}
	}
	limits, err := h.limits(ctx, q)
	if err != nil {
		return nil, err
	}
	return q.Rank(ofModel(samples, q.Model), ofModel(users, q.Model), step, limits), nil
}

// limits are the means of those a minute.
func (h *History) limits(ctx context.Context, q WhoQuery) (map[string]int64, error) {
	r, err := h.reader(ctx, HistoryQuery{From: q.From, To: q.To, Model: q.Model, Levels: true, By: GroupClass})
	if err == nil {
		r.only = true
		err = r.read(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("gemini: history: %w", err)
	}
	out := map[string]int64{}
	for _, l := range r.levels() {
		if l.Class != "" || !slices.Contains(UnitNames(), l.Limit) {
			continue
		}
		var sum, n int64
		for _, p := range l.Points {
			if p.Limit > 0 {
				sum, n = sum+p.Limit, n+1
			}
		}
		if n > 0 {
			out[l.Limit] = sum / n
		}
	}
	return out, nil
}

func ofModel(samples []UsageSample, model string) []UsageSample {
	if model == "" {
		return samples
	}
	return slices.DeleteFunc(slices.Clone(samples), func(s UsageSample) bool { return !strings.EqualFold(s.Model, model) })
}

// Rank is Who of samples that were read: by feature, and by what the ranking is by, in
// steps of a width. Limits are a minute's, by unit.
func (q WhoQuery) Rank(samples, users []UsageSample, step time.Duration, limits map[string]int64) *Who {
	q.Slow = cmp.Or(q.Slow, slowCall)
	w := &Who{From: q.From, To: q.To, Step: step, Limits: limits, Samples: samples}
	w.Rows = rankRows(users, q.To.Sub(q.From), step, limits)
	for _, s := range samples {
		if slices.Contains(q.Waiting, s.Class) {
			w.Waiting.Merge(s)
		}
	}
	w.Overlap = q.overlap(samples, users, step, limits)
	return w
}

// rankRows adds samples up by name and class.
func rankRows(samples []UsageSample, span, step time.Duration, limits map[string]int64) []WhoRow {
	type who struct{ name, class string }
	rows, peaks := map[who]*WhoRow{}, map[who]map[time.Time]*UsageSample{}
	var all UsageSample
	for _, s := range samples {
		k := who{s.Feature, s.Class}
		if rows[k] == nil {
			rows[k], peaks[k] = &WhoRow{Name: k.name, Class: k.class}, map[time.Time]*UsageSample{}
		}
		rows[k].Sum.Merge(s)
		at := s.At.Truncate(step)
		if peaks[k][at] == nil {
			peaks[k][at] = &UsageSample{}
		}
		peaks[k][at].addUnits(s)
		all.addUnits(s)
	}
	var out []WhoRow
	for k, r := range rows {
		for _, unit := range UnitNames() {
			use := unitUse(unit, r.Sum.Amount(unit), all.Amount(unit), span, limits[unit])
			for _, p := range peaks[k] {
				use.Peak = max(use.Peak, p.Amount(unit)*int64(time.Minute)/int64(step))
			}
			use.OfMax = ppm(use.Peak, limits[unit])
			r.Use = append(r.Use, use)
		}
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b WhoRow) int {
		return cmp.Or(cmp.Compare(b.largest(), a.largest()), cmp.Compare(b.Sum.Calls, a.Sum.Calls), strings.Compare(a.Name+a.Class, b.Name+b.Class))
	})
	return out
}

// addUnits adds what UnitNames are of.
func (s *UsageSample) addUnits(o UsageSample) {
	s.Requests, s.InputTokens, s.OutputTokens = s.Requests+o.Requests, s.InputTokens+o.InputTokens, s.OutputTokens+o.OutputTokens
	s.TotalTokens, s.MicroUSD = s.TotalTokens+o.TotalTokens, s.MicroUSD+o.MicroUSD
}

func unitUse(unit string, sum, all int64, span time.Duration, limit int64) UnitUse {
	minutes := max(1, span.Minutes())
	avg := float64(sum) / minutes
	u := UnitUse{Unit: unit, Sum: sum, Share: ppm(sum, all), Avg: int64(1000 * avg)}
	if limit > 0 {
		u.OfAvg = int64(1e6 * avg / float64(limit))
	}
	return u
}

func ppm(part, all int64) int64 {
	if all <= 0 {
		return 0
	}
	return int64(1e6 * float64(part) / float64(all))
}

// largest is a row's largest part of requests or tokens.
func (r WhoRow) largest() (most int64) {
	for _, u := range r.Use {
		if u.Unit != "usd" {
			most = max(most, u.Share)
		}
	}
	return most
}
