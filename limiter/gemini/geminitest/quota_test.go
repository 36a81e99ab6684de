package geminitest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/limiter/gemini/geminitest"
)

var countings = []geminitest.Counting{geminitest.SlidingMinute, geminitest.FixedMinute, geminitest.TokenBucket}

// eachCounting runs a test in virtual time with every way of counting.
func eachCounting(t *testing.T, limits geminitest.Limits, run func(t *testing.T, s *geminitest.Server, c geminitest.Counting)) {
	for _, c := range countings {
		t.Run(string(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run(t, geminitest.MustNew(geminitest.Config{
					Models: []geminitest.Model{{Name: model, Limits: limits}}, Counting: c,
				}), c)
			})
		})
	}
}

// admitted sends calls and gives how many were let in.
func admitted(t *testing.T, s *geminitest.Server, prompt string, calls int) (n int) {
	t.Helper()
	for range calls {
		switch a := generate(t.Context(), s, prompt); a.status {
		case 200:
			n++
		case 429:
		default:
			t.Fatalf("status %d, error %v: %s", a.status, a.err, a.body)
		}
	}
	return n
}

// The bubble's clock starts at a full minute. Ten calls come at second 40, and
// more at 65, 99.9, 100 and after an idle hour.
func TestRequestsPerMinute(t *testing.T) {
	want := map[geminitest.Counting][5]int{
		geminitest.SlidingMinute: {10, 0, 0, 10, 10},
		geminitest.FixedMinute:   {10, 10, 0, 0, 10},
		geminitest.TokenBucket:   {10, 4, 5, 1, 10}, // refills one in 6 s; 25 s are 4.17
	}
	eachCounting(t, geminitest.Limits{RPM: 10}, func(t *testing.T, s *geminitest.Server, c geminitest.Counting) {
		start := time.Now()
		at := []time.Duration{40 * time.Second, 65 * time.Second, 99900 * time.Millisecond, 100 * time.Second, time.Hour}
		var got [5]int
		for i, d := range at {
			time.Sleep(time.Until(start.Add(d))) //nolint:forbidigo // virtual time
			got[i] = admitted(t, s, "hello", 12)
		}
		if got != want[c] {
			t.Errorf("admitted %v, want %v", got, want[c])
		}
	})
}

func TestTokensPerMinute(t *testing.T) {
	eachCounting(t, geminitest.Limits{InputTPM: 1000}, func(t *testing.T, s *geminitest.Server, _ geminitest.Counting) {
		prompt := strings.Repeat("word ", 300)
		if n := admitted(t, s, prompt, 5); n != 3 {
			t.Errorf("admitted %d of 300 tokens each under 1000, want 3", n)
		}
		if n := admitted(t, s, strings.Repeat("word ", 100), 2); n != 1 {
			t.Errorf("admitted %d small ones into the last 100 tokens, want 1", n)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		a := generate(t.Context(), s, strings.Repeat("word ", 1001))
		if ids := fmt.Sprint(a.refusal(t).quotaIDs()); ids != "[GenerateContentPaidTierInputTokensPerModelPerMinute=1000]" {
			t.Errorf("more than the limit: %s", ids)
		}
	})
}

// The hint of a minute's refusal is exact: a moment before it the call is
// refused, at it the call is let in.
func TestHintIsWhenItFits(t *testing.T) {
	eachCounting(t, geminitest.Limits{RPM: 7, InputTPM: 5000}, func(t *testing.T, s *geminitest.Server, _ geminitest.Counting) {
		time.Sleep(12345 * time.Millisecond) //nolint:forbidigo // virtual time
		admitted(t, s, "hello", 7)
		a := generate(t.Context(), s, "hello")
		_, hint, _ := strings.Cut(a.refusal(t).Error.Message, "Please retry in ")
		wait, err := time.ParseDuration(strings.TrimSuffix(hint, "."))
		if err != nil || wait <= 0 || wait > time.Minute {
			t.Fatalf("hint %q: %v", hint, err)
		}
		time.Sleep(wait - time.Millisecond) //nolint:forbidigo // virtual time
		if n := admitted(t, s, "hello", 1); n != 0 {
			t.Errorf("let in 1 ms before the hint of %s", wait)
		}
		time.Sleep(time.Millisecond + time.Microsecond) //nolint:forbidigo // virtual time
		if n := admitted(t, s, "hello", 1); n != 1 {
			t.Errorf("refused at the hint of %s", wait)
		}
	})
}

// The day ends at midnight in California. Bubbles start at 2000-01-01 00:00
// UTC, which is 16:00 there.
func TestRequestsPerDay(t *testing.T) {
	eachCounting(t, geminitest.Limits{RPD: 5}, func(t *testing.T, s *geminitest.Server, _ geminitest.Counting) {
		if n := admitted(t, s, "hello", 6); n != 5 {
			t.Fatalf("admitted %d, want 5", n)
		}
		a := generate(t.Context(), s, "hello").refusal(t)
		if ids := fmt.Sprint(a.quotaIDs()); ids != "[GenerateRequestsPerDayPerProjectPerModel=5]" {
			t.Errorf("quota = %s", ids)
		}
		if d := a.retryDelay(); d != "28800s" {
			t.Errorf("a paid day's hint = %s, want the eight hours that are left", d)
		}
		time.Sleep(8*time.Hour - time.Second) //nolint:forbidigo // virtual time
		if n := admitted(t, s, "hello", 1); n != 0 {
			t.Error("let in before midnight")
		}
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		if n := admitted(t, s, "hello", 6); n != 5 {
			t.Errorf("admitted %d on the next day, want 5", n)
		}
	})
}

func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{
			Models:  []geminitest.Model{{Name: model, Limits: geminitest.Limits{Concurrency: 3}}},
			Latency: geminitest.Latency{Base: time.Second},
		})
		var wg sync.WaitGroup
		var mu sync.Mutex
		status := map[int]int{}
		for range 5 {
			wg.Go(func() {
				a := generate(t.Context(), s, "hello")
				mu.Lock()
				defer mu.Unlock()
				status[a.status]++
			})
		}
		synctest.Wait()
		if now, peak := s.InFlight(model); now != 3 || peak != 3 {
			t.Errorf("in flight %d, peak %d; want 3", now, peak)
		}
		wg.Wait()
		if status[200] != 3 || status[429] != 2 {
			t.Errorf("status = %v, want 3 good and 2 refused", status)
		}
		if now, _ := s.InFlight(model); now != 0 {
			t.Errorf("%d in flight after the end", now)
		}
	})
}

func TestFreeTierDayHasMisleadingHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{Free: true, Models: []geminitest.Model{{Name: model, Bucket: "gemini-3.8", Limits: geminitest.Limits{RPD: 1, RPM: 1}}}})
		admitted(t, s, "hello", 1)
		r := generate(t.Context(), s, "hello").refusal(t)
		want := "[GenerateRequestsPerDayPerProjectPerModel-FreeTier=1 GenerateRequestsPerMinutePerProjectPerModel-FreeTier=1]"
		if ids := fmt.Sprint(r.quotaIDs()); ids != want {
			t.Errorf("quotas = %s, want %s", ids, want)
		}
		if d, err := time.ParseDuration(r.retryDelay()); err != nil || d > time.Minute {
			t.Errorf("hint = %s, want seconds", r.retryDelay())
		}
		v := r.Error.Details[1].Violations[0]
		if v.QuotaMetric != "generativelanguage.googleapis.com/generate_content_free_tier_requests" || v.QuotaDimensions["model"] != "gemini-3.8" {
			t.Errorf("violation = %+v", v)
		}
	})
}

func TestLimitZeroLeavesValueOut(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: -1}}}})
	a := generate(t.Context(), s, "hello")
	if strings.Contains(a.body, "quotaValue") || !strings.Contains(a.body, "limit: 0, model: "+model) {
		t.Errorf("body = %s", a.body)
	}
	if got := s.Calls()[0].Reason; got != geminitest.ReasonLimitZero {
		t.Errorf("reason = %q", got)
	}
}

func TestCountRefused(t *testing.T) {
	for counts, want := range map[bool]int{false: 2, true: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := geminitest.MustNew(geminitest.Config{CountRefused: counts, Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 2}}}})
			admitted(t, s, "hello", 2)
			time.Sleep(30 * time.Second) //nolint:forbidigo // virtual time
			admitted(t, s, "hello", 2)   // refused
			time.Sleep(31 * time.Second) //nolint:forbidigo // virtual time
			if n := admitted(t, s, "hello", 2); n != want {
				t.Errorf("CountRefused %v: admitted %d after a minute, want %d", counts, n, want)
			}
		})
	}
}

func TestSpend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{
			Models: []geminitest.Model{{Name: model, Price: geminitest.Price{Input: 1000}}}, // 0.1 dollar a call
			Spend:  geminitest.Spend{TenMinutes: 1, Month: 2},
		})
		prompt := strings.Repeat("word ", 100)
		if n := admitted(t, s, prompt, 15); n != 10 {
			t.Fatalf("admitted %d calls of 0.1 dollar under 1 dollar, want 10", n)
		}
		if last := s.Calls()[14]; last.Reason != geminitest.ReasonSpendRate {
			t.Errorf("reason = %q", last.Reason)
		}
		time.Sleep(10 * time.Minute) //nolint:forbidigo // virtual time
		if n := admitted(t, s, prompt, 15); n != 10 {
			t.Fatalf("admitted %d in the next ten minutes, want 10", n)
		}
		time.Sleep(10 * time.Minute) //nolint:forbidigo // virtual time
		a := generate(t.Context(), s, prompt)
		if !strings.Contains(a.body, "monthly spending cap") || s.Spent() != 2_000_000 {
			t.Errorf("spent %d micro-dollars, answer %s", s.Spent(), a.body)
		}
		time.Sleep(31 * 24 * time.Hour) //nolint:forbidigo // virtual time
		if n := admitted(t, s, prompt, 1); n != 1 {
			t.Error("refused in the next month")
		}
	})
}

// A request that is too long or wrong has counted all the same.
func TestBadRequestsCount(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, ContextTokens: 50}}})
	a := generate(t.Context(), s, strings.Repeat("word ", 60))
	if a.status != 400 || !strings.Contains(a.body, "The input token count exceeds the maximum number of tokens allowed 50.") {
		t.Errorf("answer = %d %s", a.status, a.body)
	}
	if n := s.MaxInWindow(model, geminitest.InputTokens, time.Minute); n != 60 {
		t.Errorf("%d tokens were counted, want 60", n)
	}
	if a := post(t.Context(), s, model+":generateContent", `{"contents":[{"parts":[{}]}]}`); a.status != 400 || !strings.Contains(a.body, "contents[0].parts[0].data") {
		t.Errorf("empty part: %d %s", a.status, a.body)
	}
	if n := s.MaxInWindow(model, geminitest.Requests, time.Minute); n != 2 {
		t.Errorf("%d requests were counted, want 2", n)
	}
}

func TestPriorityIsDowngraded(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 10}}}})
	var tiers []string
	for range 5 {
		a := post(t.Context(), s, model+":generateContent", `{"serviceTier":"priority",`+hello[1:])
		tiers = append(tiers, a.header.Get("X-Gemini-Service-Tier"))
	}
	if got := strings.Join(tiers, " "); got != "priority priority priority standard standard" {
		t.Errorf("tiers = %s", got)
	}
}

// MaxInWindow against a count over every window that begins at a millisecond.
func TestMaxInWindowIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := geminitest.MustNew(geminitest.Config{})
		rng := rand.New(rand.NewPCG(1, 2))
		start := time.Now()
		for range 300 {
			time.Sleep(time.Duration(rng.IntN(20)*rng.IntN(8)) * time.Millisecond) //nolint:forbidigo // virtual time
			generate(context.Background(), s, strings.Repeat("word ", 1+rng.IntN(9)))
		}
		span := int(time.Since(start).Milliseconds()) + 1
		tokens := make([]int64, span)
		for _, c := range s.Calls() {
			tokens[c.At.Sub(start).Milliseconds()] += c.PromptTokens
		}
		for _, w := range []int{1, 7, 100, 1000, 60_000} {
			var most int64
			for from := range tokens {
				var sum int64
				for _, n := range tokens[from:min(from+w, span)] {
					sum += n
				}
				most = max(most, sum)
			}
			if got := s.MaxInWindow(model, geminitest.InputTokens, time.Duration(w)*time.Millisecond); got != most {
				t.Errorf("window of %d ms: %d, want %d", w, got, most)
			}
		}
	})
}

// Whatever the counting, no aligned minute, sliding minute or bucket lets more
// through than its definition says.
func TestNeverOverUnderLoad(t *testing.T) {
	most := map[geminitest.Counting]int64{geminitest.SlidingMinute: 100, geminitest.FixedMinute: 200, geminitest.TokenBucket: 200}
	eachCounting(t, geminitest.Limits{RPM: 100}, func(t *testing.T, s *geminitest.Server, c geminitest.Counting) {
		time.Sleep(50 * time.Second) //nolint:forbidigo // virtual time
		for range 2000 {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
			generate(t.Context(), s, "hello")
		}
		got := s.MaxInWindow(model, geminitest.Requests, time.Minute)
		if got > most[c] || got < 100 {
			t.Errorf("most in a minute = %d, want 100 to %d", got, most[c])
		}
		if sent := s.MaxSent(model, geminitest.Requests, time.Minute); sent != 600 {
			t.Errorf("most sent in a minute = %d, want 600", sent)
		}
	})
}
