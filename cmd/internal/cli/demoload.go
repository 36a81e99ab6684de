package cli

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// traffic is when interactive calls arrive, counted from the start.
type traffic []time.Duration

// arrivals draws the moments at which people ask, so many a minute as perMinute
// says for each moment and independent of each other (a Poisson process). The
// same seed gives the same moments.
func arrivals(seed uint64, over time.Duration, most float64, perMinute func(time.Duration) float64) traffic {
	rnd := rand.New(rand.NewPCG(seed, seed))
	var out traffic
	at := time.Duration(0)
	for {
		at += time.Duration(rnd.ExpFloat64() / most * float64(time.Minute))
		if at >= over {
			return out
		}
		if rnd.Float64()*most < perMinute(at) {
			out = append(out, at)
		}
	}
}

// heard is what one caller got.
type heard struct {
	At     time.Duration // of the call, from the start
	Took   time.Duration // until the answer or the last failure
	Failed bool          // the first try was no answer, whatever came of retries
	Lost   bool          // no answer at all
}

// play makes each call at its moment, and gives what the callers heard.
func (t traffic) play(ctx context.Context, start time.Time, call func(ctx context.Context, i int) heard) []heard {
	out := make([]heard, len(t))
	var all sync.WaitGroup
	for i, at := range t {
		select {
		case <-ctx.Done():
			all.Wait()
			return out[:i]
		case <-time.After(time.Until(start.Add(at))):
		}
		all.Go(func() {
			began := time.Now()
			h := call(ctx, i)
			h.At, h.Took = at, time.Since(began)
			out[i] = h
		})
	}
	all.Wait()
	return out
}

// failures counts the callers whose first try was no answer.
func failures(all []heard) (n int) {
	for _, h := range all {
		if h.Failed {
			n++
		}
	}
	return n
}

// p95 is how long the slowest twentieth waited at least, failures included.
func p95(all []heard) time.Duration {
	if len(all) == 0 {
		return 0
	}
	took := make([]time.Duration, len(all))
	for i, h := range all {
		took[i] = h.Took
	}
	slices.Sort(took)
	return took[(len(took)*95+99)/100-1]
}
