package gemini

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// rowsOf makes the rows of a run: an instruction and a text of changing length.
func rowsOf(t *testing.T, rng *rand.Rand, n int) (bodies []string) {
	t.Helper()
	w := writers(9)
	for i := range n {
		text, err := json.Marshal(fmt.Sprintf("Summarize in Japanese what row %d says:\n\n%s", i, w["english"].text(size(rng, 400))))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, `{"contents":[{"parts":[{"text":`+string(text)+`}]}],"generationConfig":{"maxOutputTokens":2000}}`)
	}
	return bodies
}

// TestLearnedThroughTheTransport: two processes send a feature's rows to the
// simulated Gemini, whose own count knows nothing of ours. What their meter says
// of the estimates once 200 calls were made is within the bounds, for people with
// the middle of the output and for bulk with nearly all of it. A third process
// begins with what they learned.
func TestLearnedThroughTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rdb := pipeClient(t, miniredis.NewMiniRedis())
		sim := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: "gemini-2.5-flash", ThinkingTokens: 60}}, Keys: []string{testKey}})
		process := func(name string) (*Transport, *Meter, *Learning) {
			meter := NewMeter(rdb, projScope, MeterOptions{Process: name, redisNow: time.Now})
			l := NewLearning(rdb, projScope, LearningOptions{redisNow: time.Now})
			return newTestTransport(t, sim, &fakeGate{}, func(c *TransportConfig) {
				c.Records = meter
				c.Estimator = &Estimator{Learning: l, Quantiles: map[string]int64{"interactive": 500_000}}
			}), meter, l
		}
		send := func(tr *Transport, class, path, body string) *Observation {
			ctx, obs := Observe(WithCaller(t.Context(), Caller{Class: class, Feature: "summaries"}))
			resp, err := tr.RoundTrip(post(ctx, path, body))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return obs
		}
		a, meterA, learnA := process("a")
		b, meterB, learnB := process("b")
		rows := rowsOf(t, rand.New(rand.NewPCG(8, 8)), 1000)
		var begin time.Time
		for i, body := range rows {
			if i == 200 {
				pass(10 * time.Second) // to the next bucket
				begin = time.Now().Truncate(5 * time.Second)
			}
			tr := []*Transport{a, b}[i%2]
			send(tr, []string{"interactive", "bulk"}[i/2%2], []string{generate, streamPath}[i/4%2], body)
			pass(53 * time.Millisecond) // never at the moment of an exchange
		}
		learnA.Close()
		learnB.Close()
		for _, m := range []*Meter{meterA, meterB} {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		checkEstimates(t, readStep(t, rdb, projScope, Step5s, begin, time.Now().Add(time.Minute)))
		c, meterC, learnC := process("c")
		<-learnC.ready
		obs := send(c, "bulk", generate, rows[0])
		if n := obs.Estimate[limiter.OutputTokens]; n >= 2000 {
			t.Errorf("a new process charges %d tokens of output as if nothing was known", n)
		}
		learnC.Close()
		_ = meterC.Close()
	})
}

func checkEstimates(t *testing.T, samples []UsageSample) {
	t.Helper()
	byClass := map[string]UsageSample{}
	for _, s := range samples {
		all := byClass[s.Class]
		all.Merge(s)
		byClass[s.Class] = all
	}
	for class, s := range byClass {
		part := func(n int64) float64 { return float64(n) / float64(s.Measured) }
		off := float64(s.EstimatedInput)/float64(s.MeasuredInput) - 1
		t.Logf("%-11s %d calls: input %+.1f %% off, %.1f %% under; output charged %.2f of what there was, %.1f %% under",
			class, s.Measured, 100*off, 100*part(s.UnderInput), float64(s.EstimatedOutput)/float64(s.MeasuredOutput), 100*part(s.UnderOutput))
		if s.Measured != 400 || off > 0.10 || off < -0.10 || part(s.UnderInput) > 0.05 {
			t.Errorf("%s: %d calls, input %.3f off, %.3f under", class, s.Measured, off, part(s.UnderInput))
		}
		most, least := 0.06, 0.0
		if class == "interactive" {
			most, least = 0.55, 0.35
		}
		if got := part(s.UnderOutput); got > most || got < least {
			t.Errorf("%s: %.1f %% of the calls had more output than was charged, want %.0f to %.0f %%", class, 100*got, 100*least, 100*most)
		}
	}
}
