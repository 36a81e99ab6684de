package gemini

import (
	"maps"
	"math"
	"slices"
)

// outputs are the sizes that answers had, in buckets of equal ratio, with
// forgetting. The zero value is empty; a nil map is read as empty.
type outputs map[int64]float64

const (
	outputGrowth = 1.08  // a bucket's end to its beginning: an estimate is at most so much too high
	outputGone   = 0.001 // weight under which a bucket is dropped
)

// outputBucket of tokens; 0 holds no output at all.
func outputBucket(tokens int64) int64 {
	if tokens <= 0 {
		return 0
	}
	return 1 + int64(math.Floor(math.Log(float64(tokens))/math.Log(outputGrowth)))
}

// outputEnd is the most tokens that a bucket holds.
func outputEnd(bucket int64) int64 {
	if bucket == 0 {
		return 0
	}
	return int64(math.Ceil(math.Pow(outputGrowth, float64(bucket)))) - 1
}

func (o outputs) fade(by float64) {
	for b := range o {
		if o[b] *= by; o[b] < outputGone {
			delete(o, b)
		}
	}
}

func (o outputs) merge(more outputs) {
	for b, w := range more {
		o[b] += w
	}
}

func (o outputs) weight() (sum float64) {
	for _, w := range o {
		sum += w
	}
	return sum
}

// quantile is a size that the part q (0 to 1) of answers does not exceed. Of
// few answers the largest stands for all that is not known of the tail.
func (o outputs) quantile(q float64) int64 {
	sum := o.weight()
	rank := min(q*(sum+1), sum)
	buckets := slices.Sorted(maps.Keys(o))
	for _, b := range buckets {
		if rank -= o[b]; rank <= 1e-9 {
			return outputEnd(b)
		}
	}
	if len(buckets) == 0 {
		return 0
	}
	return outputEnd(buckets[len(buckets)-1])
}
