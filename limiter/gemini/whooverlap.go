package gemini

import (
	"slices"
	"time"
)

// fewAnswers is how many answers of a minute say nothing about how slow it was.
const fewAnswers = 5

// overlap finds the minutes in which callers who wait suffered, and who used what then.
func (q WhoQuery) overlap(samples, users []UsageSample, step time.Duration, limits map[string]int64) *Overlap {
	suffered := map[time.Time]*UsageSample{}
	for _, s := range samples {
		if slices.Contains(q.Waiting, s.Class) {
			at := s.At.Truncate(step)
			if suffered[at] == nil {
				suffered[at] = &UsageSample{}
			}
			suffered[at].Merge(s)
		}
	}
	o := &Overlap{}
	bad := map[time.Time]bool{}
	for at, s := range suffered {
		// What no other class's calls can have caused is nobody else's doing.
		provider := s.ContestedThere()
		refused := provider + s.ContestedHere()
		if refused == 0 && !q.slow(s) {
			continue
		}
		bad[at] = true
		o.note(at, step, refused, provider)
	}
	if len(bad) == 0 {
		return nil
	}
	o.Minutes = int64(len(bad)) * int64(step/time.Minute)
	o.Slow *= int64(step / time.Minute)
	then := slices.DeleteFunc(slices.Clone(users), func(s UsageSample) bool { return !bad[s.At.Truncate(step)] })
	o.Rows = rankRows(then, time.Duration(o.Minutes)*time.Minute, step, limits)
	o.Others = q.others(then, time.Duration(o.Minutes)*time.Minute, limits)
	return o
}

func (o *Overlap) note(at time.Time, step time.Duration, refused, provider int64) {
	if o.First.IsZero() || at.Before(o.First) {
		o.First = at
	}
	if end := at.Add(step); end.After(o.Last) {
		o.Last = end
	}
	o.Refused, o.ByProvider = o.Refused+refused, o.ByProvider+provider
	if refused == 0 {
		o.Slow++
	}
}

func (q WhoQuery) slow(s *UsageSample) bool {
	for _, h := range []Histogram{s.Latency, s.FirstToken} {
		if h.N() >= fewAnswers && h.Quantile(0.95) > q.Slow {
			return true
		}
	}
	return false
}

// others is what the classes used that do not wait.
func (q WhoQuery) others(samples []UsageSample, span time.Duration, limits map[string]int64) (out []UnitUse) {
	var all, others UsageSample
	for _, s := range samples {
		all.addUnits(s)
		if !slices.Contains(q.Waiting, s.Class) {
			others.addUnits(s)
		}
	}
	for _, unit := range UnitNames() {
		out = append(out, unitUse(unit, others.Amount(unit), all.Amount(unit), span, limits[unit]))
	}
	return out
}
