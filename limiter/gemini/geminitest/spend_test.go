package geminitest_test

import (
	"testing"

	"nightshift/limiter/gemini/geminitest"
)

// TestSumIsRoundedOnce: what many calls cost is their exact sum, as on a bill, and not
// the sum of what each would be rounded up to.
func TestSumIsRoundedOnce(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, Price: geminitest.Price{Input: 0.30, Output: 2.50}}}})
	var pico, each int64
	for range 7 {
		post(t.Context(), s, model+":generateContent", hello)
	}
	for _, c := range s.Calls() {
		pico += 300_000*c.PromptTokens + 2_500_000*(c.OutputTokens+c.ThoughtTokens)
		each += c.MicroUSD
	}
	if want := (pico + 999_999) / 1_000_000; s.Spent() != want || s.Stats().MicroUSD != want {
		t.Errorf("%d and %d micro-dollars, want %d", s.Spent(), s.Stats().MicroUSD, want)
	}
	if each <= s.Spent() {
		t.Errorf("the calls cost %d one by one and %d together: nothing was rounded", each, s.Spent())
	}
}
