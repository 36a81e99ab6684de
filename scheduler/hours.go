package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// hourUse is what a class took of a lane in one hour, or wanted to take.
type hourUse struct {
	sum  limiter.Amounts
	peak limiter.Amounts // of its largest minute
	ten  int64           // micro-dollars of its largest ten minutes
}

// useKey is whose use it is. lane is "region/model".
type useKey struct{ lane, class string }

func (k useKey) String() string { return k.lane + "|" + k.class }

func parseUseKey(s string) (useKey, bool) {
	lane, class, ok := strings.Cut(s, "|")
	return useKey{lane, class}, ok
}

func keyOf(l limiter.Lane, class string) useKey {
	region := l.Region
	if region == "" {
		region = "global"
	}
	return useKey{region + "/" + l.Model, class}
}

// learnedUnits are those that the meter counts.
var learnedUnits = [...]limiter.Unit{limiter.Requests, limiter.InputTokens, limiter.OutputTokens, limiter.TotalTokens, limiter.MicroUSD}

// wanted is what a sample's calls took, and what the refused ones would have:
// for those at most as much again, since who is refused may ask more than once.
func wanted(s gemini.UsageSample) limiter.Amounts {
	a := limiter.Amounts{
		limiter.Requests: s.Requests, limiter.InputTokens: s.InputTokens, limiter.OutputTokens: s.OutputTokens,
		limiter.TotalTokens: s.TotalTokens, limiter.MicroUSD: s.MicroUSD,
	}
	if s.Sent > 0 && s.Refused > 0 {
		more := min(s.Refused, s.Sent)
		for u, n := range a {
			a[u] += int64(float64(n) * float64(more) / float64(s.Sent))
		}
	}
	return a
}

func plus(a, b limiter.Amounts) limiter.Amounts {
	for u, n := range b {
		a[u] += n
	}
	return a
}

// hourFromMinutes adds an hour's minutes up. Features of a class count together.
func hourFromMinutes(minutes []gemini.UsageSample) map[useKey]hourUse {
	byMinute := map[useKey]*[60]limiter.Amounts{}
	for _, s := range minutes {
		k := useKey{s.Region + "/" + s.Model, s.Class}
		if byMinute[k] == nil {
			byMinute[k] = &[60]limiter.Amounts{}
		}
		at := &byMinute[k][s.At.Unix()/60%60]
		*at = plus(*at, wanted(s))
	}
	out := map[useKey]hourUse{}
	for k, ms := range byMinute {
		var h hourUse
		for m, a := range ms {
			h.sum = plus(h.sum, a)
			h.peak = larger(h.peak, a)
			ten := int64(0)
			for _, b := range ms[max(0, m-9) : m+1] {
				ten += b[limiter.MicroUSD]
			}
			h.ten = max(h.ten, ten)
		}
		out[k] = h
	}
	return out
}

func larger(a, b limiter.Amounts) limiter.Amounts {
	for u, n := range b {
		a[u] = max(a[u], n)
	}
	return a
}

// peakToMean is how much larger an hour's largest minute is taken to be than its
// mean, where only the hour's sum is known: an assumption, on the safe side of
// traffic that is spread evenly.
const peakToMean = 3

// hourFromSum guesses the largest minute of an hour whose minutes have expired.
func hourFromSum(sum limiter.Amounts) hourUse {
	h := hourUse{sum: sum}
	for u, n := range sum {
		h.peak[u] = min(n, (n*peakToMean+59)/60)
	}
	h.ten = min(sum[limiter.MicroUSD], (sum[limiter.MicroUSD]*peakToMean+5)/6)
	return h
}

// list is how an hour is stored: sums, peaks and ten minutes.
func (h hourUse) list() []int64 {
	var out []int64
	for _, u := range learnedUnits {
		out = append(out, h.sum[u])
	}
	for _, u := range learnedUnits {
		out = append(out, h.peak[u])
	}
	return append(out, h.ten)
}

func hourFromList(n []int64) (h hourUse, err error) {
	if len(n) != 2*len(learnedUnits)+1 {
		return h, fmt.Errorf("an hour has %d numbers", len(n))
	}
	for i, u := range learnedUnits {
		h.sum[u], h.peak[u] = n[i], n[len(learnedUnits)+i]
	}
	h.ten = n[len(n)-1]
	return h, nil
}

func packHour(uses map[useKey]hourUse) string {
	out := map[string][]int64{}
	for k, h := range uses {
		out[k.String()] = h.list()
	}
	text, _ := json.Marshal(out) // strings and integers always can be written
	return string(text)
}
