package gemini

import "slices"

// The fields of a series: a counter's place, or a bin's code beyond these.
const (
	fieldLatency = 1000 // + bucket
	fieldFirst   = 1200
	fieldWaited  = 1400
	fieldTallies = 10_000 // + code
	fieldLevels  = 20_000 // + which (historylevels.go)
)

var histogramFields = [...]int{fieldLatency, fieldFirst, fieldWaited, fieldTallies}

// each gives the fields that are not zero; those of durations only when asked for.
func (s *UsageSample) each(durations bool, take func(field int, n int64)) {
	for i, n := range s.counters() {
		if *n != 0 {
			take(i, *n)
		}
	}
	for i, h := range s.histograms() {
		if !durations && histogramFields[i] != fieldTallies {
			continue
		}
		for _, b := range h.bins {
			take(histogramFields[i]+int(b.bucket), b.n)
		}
	}
}

// fill sets a sample's counts from one step of columns.
func (s *UsageSample) fill(cols columns, step int) {
	counters := s.counters()
	var bins [len(histogramFields)][]bin
	for field, ns := range cols {
		n := ns[step]
		switch {
		case n == 0:
		case field < len(counters):
			*counters[field] += n
		default:
			if i := histogramOf(field); i >= 0 {
				bins[i] = append(bins[i], bin{int64(field - histogramFields[i]), n})
			}
		}
	}
	for i, h := range s.histograms() {
		slices.SortFunc(bins[i], func(a, b bin) int { return int(a.bucket - b.bucket) })
		h.Merge(Histogram{bins[i]})
	}
}

// histogramOf is -1 for a field that is in none.
func histogramOf(field int) int {
	for i := len(histogramFields) - 1; i >= 0; i-- {
		if field >= histogramFields[i] {
			if i == len(histogramFields)-1 && field >= fieldLevels {
				return -1
			}
			return i
		}
	}
	return -1
}
