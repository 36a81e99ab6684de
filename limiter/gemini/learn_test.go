package gemini

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

func someShape(rng *rand.Rand) shape {
	return shape{words: 20 + 480*rng.Float64(), signs: 200 * rng.Float64(), han: 400 * rng.Float64()}
}

// TestFitFindsWeights: what was made of parts is taken apart again.
func TestFitFindsWeights(t *testing.T) {
	rng, f := rand.New(rand.NewPCG(1, 1)), fit{}
	for range 300 {
		s := someShape(rng)
		f.add(s, (80+0.7*s.words+1.2*s.signs+0.5*s.han)/s.scale())
	}
	got := f.solve()
	for i, want := range []float64{80.0 / fixedTokens, 0.7, 1.2, 0.5, 1, 1} {
		if math.Abs(got.weights[i]-want) > 0.1 {
			t.Errorf("weight %d is %.3f, want %.3f: what was not seen stays at 1", i, got.weights[i], want)
		}
	}
	if got.spread > 0.01 {
		t.Errorf("spread %.4f of what is exact", got.spread)
	}
}

// TestOutputsQuantile: at most so many of the answers to come are larger.
func TestOutputsQuantile(t *testing.T) {
	for _, q := range []float64{0.5, 0.8, 0.95} {
		rng, o := rand.New(rand.NewPCG(2, 2)), outputs{}
		var above, calls, sum, under int64
		for i := range 4000 {
			tokens := int64(300 * math.Exp(0.5*rng.NormFloat64()))
			if i >= 200 {
				calls++
				if guess := o.quantile(q); tokens > guess {
					above++
				} else {
					sum, under = sum+guess-tokens, under+1
				}
			}
			o.fade(fitForget)
			o[outputBucket(tokens)]++
		}
		if got := float64(above) / float64(calls); got > 1-q+0.01 || got < (1-q)*0.4 {
			t.Errorf("%.0f %% of the answers are above the %.2f quantile", 100*got, q)
		}
	}
	if got := (outputs{}).quantile(0.95); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestOutputBuckets(t *testing.T) {
	for tokens := range int64(70_000) {
		b := outputBucket(tokens)
		if end := outputEnd(b); end < tokens || float64(end) > float64(tokens)*outputGrowth+1 || b > 0 && outputEnd(b-1) >= tokens {
			t.Fatalf("%d tokens are in bucket %d, which ends at %d; the one before at %d", tokens, b, end, outputEnd(b-1))
		}
	}
}

// TestUnderRateHoldsForAnySpread: a tenth of the calls has twice the input and
// nothing in the request tells which. The charge follows them up.
func TestUnderRateHoldsForAnySpread(t *testing.T) {
	rng, l := rand.New(rand.NewPCG(3, 3)), newLesson()
	under, calls := 0, 0
	for i := range 3000 {
		s := someShape(rng)
		real := int64(s.tokens())
		if rng.IntN(10) == 0 {
			real *= 2
		}
		if i >= 200 {
			calls++
			if l.input(l.fit.solve(), s) < real {
				under++
			}
		}
		l.learn(s, real, -1)
	}
	if got := float64(under) / float64(calls); got > 0.05 {
		t.Errorf("%.1f %% under", 100*got)
	}
}

// learningAt makes a Learning whose exchange never comes by itself.
func learningAt(t *testing.T, rdb redis.UniversalClient, scope limiter.Scope, change ...func(*LearningOptions)) *Learning {
	t.Helper()
	opts := LearningOptions{Every: 1000 * time.Hour}
	for _, f := range change {
		f(&opts)
	}
	l := NewLearning(rdb, scope, opts)
	t.Cleanup(l.Close)
	return l
}

func pairOf(scope limiter.Scope, feature string) pairKey {
	return pairKey{limiter.Lane{Provider: scope.Provider, Project: scope.Project, Region: "global", Model: "m"}, feature}
}

// TestLearningIsShared: three processes that learn in turns know what one that
// saw all calls in the same order would know, and so does one that starts later.
func TestLearningIsShared(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		scope, rng := meterScope(), rand.New(rand.NewPCG(4, 4))
		one := NewLearning(nil, scope, LearningOptions{})
		var fleet []*Learning
		for range 3 {
			fleet = append(fleet, learningAt(t, rdb, scope))
		}
		for i := range 300 {
			k, s := pairOf(scope, fmt.Sprint("f", rng.IntN(2))), someShape(rng)
			input, output := int64(s.tokens()*(0.6+0.05*rng.NormFloat64())), rng.Int64N(500)
			one.learn(k, s, input, output)
			fleet[i/10%3].learn(k, s, input, output)
			if i%10 == 9 {
				fleet[i/10%3].exchange()
			}
		}
		late := learningAt(t, rdb, scope)
		<-late.ready
		for _, f := range []string{"f0", "f1"} {
			s := someShape(rng)
			want, ok := one.input(pairOf(scope, f), s)
			wantOut, ok2 := one.output(pairOf(scope, f), 0.95)
			got, ok3 := late.input(pairOf(scope, f), s)
			gotOut, ok4 := late.output(pairOf(scope, f), 0.95)
			if !ok || !ok2 || !ok3 || !ok4 || math.Abs(float64(got-want)) > 0.03*float64(want) || gotOut != wantOut {
				t.Errorf("%s: input %d, want %d; output %d, want %d; known %v %v %v %v", f, got, want, gotOut, wantOut, ok, ok2, ok3, ok4)
			}
		}
		if _, ok := late.input(pairOf(scope, "f2"), someShape(rng)); ok {
			t.Error("a feature that nobody called is known")
		}
	})
}
