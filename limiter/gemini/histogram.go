package gemini

import (
	"math"
	"time"
)

// Buckets of a Histogram: the first holds what is under a millisecond, each
// further one ends at 1.13 times the end of the one before. The middle of a
// bucket, which a quantile gives, is at most √1.13 − 1 = 6.3 % away from what is
// in it. The last bucket begins at about two hours and has no end.
const (
	histogramGrowth  = 1.13
	histogramBuckets = 132
)

// Histogram counts durations in buckets of equal ratio; only those that hold
// something take room. The zero value is empty and ready. A copy is a
// Histogram of its own: adding to one never changes another.
type Histogram struct {
	bins []bin // ascending by bucket; never written once made, as copies share it
}

type bin struct{ bucket, n int64 }

// Add counts one duration; one below zero counts as zero.
func (h *Histogram) Add(d time.Duration) { h.Merge(Histogram{[]bin{{bucketOf(d), 1}}}) }

// Merge adds all that another one has counted.
func (h *Histogram) Merge(o Histogram) {
	if len(o.bins) == 0 {
		return
	}
	a, b := h.bins, o.bins
	sum := make([]bin, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].bucket < b[0].bucket:
			sum, a = append(sum, a[0]), a[1:]
		case a[0].bucket > b[0].bucket:
			sum, b = append(sum, b[0]), b[1:]
		default:
			sum, a, b = append(sum, bin{a[0].bucket, a[0].n + b[0].n}), a[1:], b[1:]
		}
	}
	h.bins = append(append(sum, a...), b...)
}

// N is how many durations were counted.
func (h Histogram) N() (n int64) {
	for _, b := range h.bins {
		n += b.n
	}
	return n
}

// Quantile gives the duration that the part q (0 to 1) of what was counted does
// not exceed, at most 7 % off from a millisecond on; 0 when nothing was counted.
func (h Histogram) Quantile(q float64) time.Duration {
	rank := max(1, int64(math.Ceil(q*float64(h.N()))))
	for _, b := range h.bins {
		if rank -= b.n; rank <= 0 {
			return middleOf(b.bucket)
		}
	}
	if len(h.bins) == 0 {
		return 0
	}
	return middleOf(h.bins[len(h.bins)-1].bucket)
}

func bucketOf(d time.Duration) int64 {
	if d < time.Millisecond {
		return 0
	}
	i := 1 + math.Floor(math.Log(float64(d)/float64(time.Millisecond))/math.Log(histogramGrowth))
	return min(int64(i), histogramBuckets-1)
}

// middleOf is the geometric middle of a bucket; 0 for what is under a millisecond.
func middleOf(bucket int64) time.Duration {
	if bucket == 0 {
		return 0
	}
	return time.Duration(math.Pow(histogramGrowth, float64(bucket)-0.5) * float64(time.Millisecond))
}
