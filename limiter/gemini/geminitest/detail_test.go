package geminitest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

func TestRetryInfoComesWithAndWithoutFraction(t *testing.T) {
	s := withFaults(t, "429-rpm(36.429760048s)")
	var delays []string
	for range 2 {
		r := generate(t.Context(), s, "hello").refusal(t)
		if !strings.HasSuffix(r.Error.Message, "Please retry in 36.429760048s.") {
			t.Errorf("message = %q", r.Error.Message)
		}
		delays = append(delays, r.retryDelay())
	}
	if fmt.Sprint(delays) != "[36.429760048s 36s]" {
		t.Errorf("delays = %v", delays)
	}
}

func TestAccountKeepsHeadersButNoKey(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	post(t.Context(), s, model+":generateContent", hello, "X-Server-Timeout", "30", "X-Goog-Api-Client", "genai/1", "X-Trace", "t1")
	c := s.Calls()[0]
	if want := map[string]string{"x-server-timeout": "30", "x-trace": "t1"}; !maps.Equal(c.Header, want) {
		t.Errorf("headers = %v, want %v", c.Header, want)
	}
	if b, _ := json.Marshal(c); strings.Contains(string(b), "good") || c.Key != geminitest.KeyHash("good") {
		t.Errorf("account = %s", b)
	}
}

func TestCost(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, ThinkingTokens: 50, Price: geminitest.Price{Input: 2, Output: 10}}}})
	for tier, factor := range map[string]float64{"standard": 1, "flex": 0.5, "priority": 1.8} {
		s.Reset()
		post(t.Context(), s, model+":generateContent", `{"serviceTier":"`+tier+`",`+hello[1:])
		c := s.Calls()[0]
		want := int64(math.Ceil(factor * float64(2*c.PromptTokens+10*(c.OutputTokens+c.ThoughtTokens))))
		if c.MicroUSD != want || c.ThoughtTokens == 0 || s.Spent() != want {
			t.Errorf("%s: %d micro-dollars, want %d for %+v", tier, c.MicroUSD, want, c)
		}
	}
}

func TestThinkingLevels(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, ThinkingTokens: 800}}})
	var got []int64
	for _, level := range []string{"MINIMAL", "low", "medium", "high"} {
		post(t.Context(), s, model+":generateContent", `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"`+level+`"}},`+hello[1:])
		got = append(got, s.Calls()[len(got)].ThoughtTokens)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != 4 {
		t.Errorf("thoughts by level = %v, want them to rise", got)
	}
}

// Usage in a stream is cumulative: every chunk has all so far.
func TestStreamUsageIsCumulative(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, AnswerTokens: 100}}})
	a := post(t.Context(), s, model+":streamGenerateContent", hello)
	var chunks []struct {
		UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount, TotalTokenCount int64 }
	}
	if err := json.Unmarshal([]byte(a.body), &chunks); err != nil {
		t.Fatal(err)
	}
	var before int64
	for _, c := range chunks {
		u := c.UsageMetadata
		if u.CandidatesTokenCount <= before || u.PromptTokenCount != 2 || u.TotalTokenCount != u.PromptTokenCount+u.CandidatesTokenCount {
			t.Errorf("usage %+v after %d", u, before)
		}
		before = u.CandidatesTokenCount
	}
	if want := s.Calls()[0].OutputTokens; before != want {
		t.Errorf("the last chunk has %d tokens, the account %d", before, want)
	}
}

func TestCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{})
		prompt := strings.Repeat("You know every desk by heart. ", 1000)
		for _, wait := range []time.Duration{0, 59 * time.Minute, 61 * time.Minute} {
			time.Sleep(wait) //nolint:forbidigo // virtual time
			generate(t.Context(), s, prompt)
		}
		c := s.Calls()
		if c[0].CachedTokens != 0 || c[1].CachedTokens == 0 || c[2].CachedTokens != 0 {
			t.Errorf("cached %d, %d, %d tokens", c[0].CachedTokens, c[1].CachedTokens, c[2].CachedTokens)
		}
	})
}

// The day has 23 hours on 2027-03-14 and 25 on 2026-11-01 in California.
func TestDayInDaylightSaving(t *testing.T) {
	for noon, hours := range map[string]string{"2027-03-14T00:30:00-08:00": "81000s", "2026-11-01T00:30:00-07:00": "88200s"} {
		start, err := time.Parse(time.RFC3339, noon)
		if err != nil {
			t.Fatal(err)
		}
		s := geminitest.MustNew(geminitest.Config{
			Now: func() time.Time { return start }, Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPD: 1}}},
		})
		generate(t.Context(), s, "hello")
		if d := generate(t.Context(), s, "hello").refusal(t).retryDelay(); d != hours {
			t.Errorf("%s: the day ends in %s, want %s", noon, d, hours)
		}
	}
}

func TestVariantsShareABucket(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{
		{Name: model, Bucket: "gemini-3.8", Limits: geminitest.Limits{RPM: 3}}, {Name: model + "-tools", Bucket: "gemini-3.8"},
	}})
	for range 2 {
		generate(t.Context(), s, "hello")
		post(t.Context(), s, model+"-tools:generateContent", hello)
	}
	calls := s.Calls()
	if calls[2].Status != 200 || calls[3].Status != 429 || s.MaxInWindow(model, geminitest.Requests, time.Minute) != 3 {
		t.Errorf("calls = %+v", calls)
	}
}

func TestSetModelKeepsUsage(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 10}}}})
	if n := admitted(t, s, "hello", 4); n != 4 {
		t.Fatalf("admitted %d", n)
	}
	s.SetModel(geminitest.Model{Name: model, Limits: geminitest.Limits{RPM: 5}})
	if n := admitted(t, s, "hello", 4); n != 1 {
		t.Errorf("admitted %d more under the lower limit, want 1", n)
	}
}

// Tokens by script, in the proportions that Gemini's tokenizer is known for.
func TestTokenCount(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	for text, want := range map[string][2]int64{
		"":                               {0, 0},
		"one two three":                  {3, 3},
		"internationalization":           {4, 5},
		"2026-11-29":                     {10, 10},
		strings.Repeat("漢", 100):         {70, 80},
		strings.Repeat("かな", 50):         {60, 70},
		strings.Repeat("한", 100):         {60, 70},
		strings.Repeat("😀", 10):          {15, 20},
		strings.Repeat("Слово ", 100):    {200, 250},
		strings.Repeat("\n", 3) + "a\nb": {3, 4},
	} {
		body, _ := json.Marshal(map[string]any{"contents": []any{map[string]any{"parts": []any{map[string]string{"text": text}}}}})
		var count struct{ TotalTokens int64 }
		a := post(t.Context(), s, model+":countTokens", string(body))
		if err := json.Unmarshal([]byte(a.body), &count); err != nil || count.TotalTokens < want[0] || count.TotalTokens > want[1] {
			t.Errorf("%.20q: %s, want %d to %d", text, a.body, want[0], want[1])
		}
	}
}
