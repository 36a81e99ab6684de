package gemini

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nightshift/limiter"
)

// prompts makes the requests of a feature and what the provider counts for each.
type prompts func() (body string, tokens int64)

func promptOf(parts ...string) string {
	for i, p := range parts {
		if !strings.HasPrefix(p, "{") {
			text, _ := json.Marshal(p)
			parts[i] = `{"text":` + string(text) + `}`
		}
	}
	return `{"contents":[{"parts":[` + strings.Join(parts, ",") + `]}]}`
}

// size draws a length about a median, half to twice of it mostly.
func size(rng *rand.Rand, median float64) int {
	return 20 + int(median*math.Exp(0.6*rng.NormFloat64()))
}

// features are kinds of prompts: rows of one language alone, rows of several in
// changing parts, short rows under a long instruction, what the provider adds
// without a word in the request, and pictures in some of the calls.
func features(t *testing.T, seed uint64) map[string]prompts {
	w, rng, count := writers(seed), rand.New(rand.NewPCG(seed, 5)), tokenizer{seed + 1, map[string]int64{}}.count
	all := map[string]prompts{}
	for name, writer := range w {
		all[name] = func() (string, int64) {
			text := writer.text(size(rng, 800))
			return promptOf(text), count(text) + 3
		}
	}
	names := []string{"japanese", "chinese", "english", "code"}
	all["mixed"] = func() (string, int64) {
		var b strings.Builder
		for range 1 + rng.IntN(3) {
			b.WriteString(w[names[rng.IntN(len(names))]].text(size(rng, 500)))
		}
		return promptOf(b.String()), count(b.String()) + 3
	}
	instruction := w["english"].text(1500)
	all["short rows under an instruction"] = func() (string, int64) {
		text := instruction + w["japanese"].text(size(rng, 100))
		return promptOf(text), count(text) + 3
	}
	all["added by the provider"] = func() (string, int64) {
		text := w["chinese"].text(size(rng, 300))
		return promptOf(text), count(text) + 400
	}
	small := base64.StdEncoding.EncodeToString(picture(t, 300, 200, true))
	all["pictures in half of the calls"] = func() (string, int64) {
		text := w["english"].text(size(rng, 800))
		if rng.IntN(2) == 0 {
			return promptOf(text), count(text) + 3
		}
		return promptOf(text, `{"inlineData":{"mimeType":"image/jpeg","data":"`+small+`"}}`), count(text) + 3 + 258
	}
	return all
}

// accuracy is how far charges were from what was counted.
type accuracy struct {
	calls, under     int
	estimated, taken int64
}

func (a *accuracy) add(estimated, taken int64) {
	a.calls, a.estimated, a.taken = a.calls+1, a.estimated+estimated, a.taken+taken
	if estimated < taken {
		a.under++
	}
}

func (a accuracy) err() float64       { return float64(a.estimated)/float64(a.taken) - 1 }
func (a accuracy) underRate() float64 { return float64(a.under) / float64(a.calls) }

// TestLearnedInput holds the charges of a feature to ten percent of what is
// counted, and the calls that were charged too little to five, from 200 calls on.
// Until 20 calls taught enough, the rules' high side stands.
func TestLearnedInput(t *testing.T) {
	for seed := range uint64(2) {
		all := features(t, seed)
		for _, name := range slices.Sorted(maps.Keys(all)) { // in one order: they draw from one source
			next := all[name]
			e := &Estimator{Learning: NewLearning(nil, limiter.Scope{}, LearningOptions{})}
			var cold, learned accuracy
			for i := range 600 {
				body, tokens := next()
				ask := Ask{Method: "generateContent", Model: Model{Name: "gemini-2.5-flash"}, Class: "bulk", Feature: name, Body: []byte(body)}
				got, err := e.Ask(ask)
				if err != nil {
					t.Fatal(err)
				}
				n := got.Amounts[limiter.InputTokens]
				switch {
				case i < learnAfter:
					cold.add(n, tokens)
				case i >= 200:
					learned.add(n, tokens)
				}
				e.Learn(ask, got, Usage{Prompt: tokens}, true)
			}
			t.Logf("seed %d, %-32s cold %+4.0f %%, %4.1f %% under; learned %+5.1f %%, %3.1f %% under",
				seed, name, 100*cold.err(), 100*cold.underRate(), 100*learned.err(), 100*learned.underRate())
			if math.Abs(learned.err()) > 0.10 || learned.underRate() > 0.05 {
				t.Errorf("seed %d, %s: %+.1f %% off, %.1f %% under", seed, name, 100*learned.err(), 100*learned.underRate())
			}
			if name != "added by the provider" && cold.under > 0 {
				t.Errorf("seed %d, %s: %d of the first calls were under-estimated", seed, name, cold.under)
			}
		}
	}
}
