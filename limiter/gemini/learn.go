package gemini

import (
	"math"
	"sync"

	"nightshift/limiter"
)

// Learning corrects input estimates by the usage that the same lane and feature
// had. The zero value learns nothing: estimates stay on the high side.
type Learning struct {
	On bool
	// Deviations above the learned mean that an estimate stays; 0 means 2.
	Deviations float64

	mu     sync.Mutex
	ratios map[learnKey]*ratio // guarded by mu
}

type learnKey struct {
	lane    limiter.Lane
	feature string
}

// ratio of real to estimated input, as moving mean and variance.
type ratio struct {
	mean, variance float64
	seen           int
}

const (
	learnAfter = 20   // calls before a ratio is used
	learnShare = 0.05 // weight of the newest call
	learnKeys  = 4096 // pairs that are remembered; later ones are not learned
	learnLow   = 0.2  // bounds of a correction
	learnHigh  = 5.0  //
)

func (l *Learning) correct(lane limiter.Lane, feature string, input int64) int64 {
	if !l.On {
		return input
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.ratios[learnKey{lane, feature}]
	if r == nil || r.seen < learnAfter {
		return input
	}
	deviations := l.Deviations
	if deviations == 0 {
		deviations = 2
	}
	factor := min(max(r.mean+deviations*math.Sqrt(r.variance), learnLow), learnHigh)
	return int64(math.Ceil(float64(input) * factor))
}

// learn takes one call's rule-based estimate and real input.
func (l *Learning) learn(lane limiter.Lane, feature string, estimated, real int64) {
	if !l.On || estimated <= 0 || real <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := learnKey{lane, feature}
	r := l.ratios[key]
	if r == nil {
		if len(l.ratios) >= learnKeys {
			return
		}
		if l.ratios == nil {
			l.ratios = map[learnKey]*ratio{}
		}
		r = &ratio{mean: float64(real) / float64(estimated)}
		l.ratios[key] = r
	}
	r.add(float64(real) / float64(estimated))
}

func (r *ratio) add(x float64) {
	r.seen++
	d := x - r.mean
	r.mean += learnShare * d
	r.variance = (1 - learnShare) * (r.variance + learnShare*d*d)
}
