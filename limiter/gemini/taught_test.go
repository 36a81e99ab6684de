package gemini

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// TestTaught: what a process learned is read back as the sum of many calls and the
// spread of their answers.
func TestTaught(t *testing.T) {
	onBoth(t, testTaught)
}

func testTaught(t *testing.T, rdb *redis.Client) {
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}
	ctx := t.Context()
	if got, err := ReadTaught(ctx, rdb, lane, "tags"); got != nil || err != nil {
		t.Fatalf("before any call: %v, %v", got, err)
	}
	l := NewLearning(rdb, lane.Scope(), LearningOptions{})
	prompt := strings.Repeat("describe the item ", 20)
	var x Texts
	for i := range 200 {
		rule := x.Add(prompt)
		// The provider counts half of the rule; answers have 100 tokens, each fifth 300.
		output := int64(100)
		if i%5 == 0 {
			output = 300
		}
		l.learn(pairKey{lane, "tags"}, shape{words: float64(rule), signs: overhead}, rule/2, output)
	}
	l.Close()
	got, err := ReadTaught(ctx, rdb, lane, "tags")
	if err != nil || got == nil || got.Calls < 50 {
		t.Fatalf("taught %+v, %v", got, err)
	}
	_, rule := x.Tokens()
	low, mid, high := got.Input(x)
	if low >= mid || mid >= high || float64(mid) < 0.4*float64(rule) || float64(mid) > 0.6*float64(rule) {
		t.Errorf("input %d to %d to %d of %d by rule, want about half", low, mid, high, rule)
	}
	// Calls of twelve tokens are not like those: the rules have a say.
	var short Texts
	for range 50 {
		short.Add("tag: lamp, brass, old")
	}
	ruleLow, ruleHigh := short.Tokens()
	if low, mid, high := got.Input(short); low > ruleLow || high < ruleHigh || mid < low || mid > high {
		t.Errorf("short prompts have %d to %d to %d, by rule %d to %d", low, mid, high, ruleLow, ruleHigh)
	}
	outLow, mean, outHigh := got.Output()
	if mean < 125 || mean > 160 || outLow > 110 || outHigh < mean {
		t.Errorf("answers of %.0f, %.0f, %.0f tokens; want about 100, 140 and more", outLow, mean, outHigh)
	}
	// Each call is rounded up on its own, the sum but once.
	if low, high := x.Tokens(); low >= high || high > 200*EstimateText(prompt) || high < 199*EstimateText(prompt)-200 {
		t.Errorf("by rule %d to %d, want to %d", low, high, 200*EstimateText(prompt))
	}
	if got, _ := ReadTaught(ctx, rdb, lane, "other"); got != nil {
		t.Error("another feature was taught too")
	}
}
