package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// TestStoppedSentence: when bulk stops before its end, what the next call may cost is
// why; amounts that are not the same do not look it.
func TestStoppedSentence(t *testing.T) {
	t.Parallel()
	c := limiter.CapState{Node: "tenant/acme", Name: "usd_per_month", Used: 17_600, Soft: 18_400, Limit: limiter.Limit{Amount: 20_000}, Stopped: []string{"bulk"}, Next: 4_000}
	got := stoppedSentence(c, time.Now())
	want := "bulk wait for budget: $0.0176 of $0.0200 is spent (usd_per_month of tenant/acme; they stop at $0.0184, " +
		"the rest is for those who wait for answers; the next call may cost up to $0.004000). "
	if !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Held = 16_000
	if got := stoppedSentence(c, time.Now()); !strings.HasPrefix(got, "bulk wait for budget: $0.0016 of $0.0200 is spent and $0.0160 held by calls under way, ") {
		t.Errorf("what is held is said to be spent: %q", got)
	}
	c.Used, c.Held = 18_400, 0
	if got := stoppedSentence(c, time.Now()); strings.Contains(got, "the next call") {
		t.Errorf("at the end of what it may have: %q", got)
	}
}

// TestUSDApart: as few digits as tell amounts from one another.
func TestUSDApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		micro []int64
		want  []string
	}{
		{[]int64{50_004_000, 51_000_000, 0}, []string{"$50.00", "$51.00", "$0.00"}},
		{[]int64{17_600, 20_000}, []string{"$0.0176", "$0.0200"}},
		{[]int64{50_999_999, 51_000_000}, []string{"$50.999999", "$51.000000"}},
		{[]int64{20_000, 20_000}, []string{"$0.02", "$0.02"}},
		{[]int64{7, 20_000}, []string{"$0.000007", "$0.020000"}},
	} {
		if got := usdApart(c.micro...); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.micro, got, c.want)
		}
	}
}

// TestFaultKinds: the help lists every fault that --fault takes, and none other.
func TestFaultKinds(t *testing.T) {
	t.Parallel()
	listed := strings.Fields(faultKinds())
	for _, kind := range geminitest.FaultKinds() {
		_, err := geminitest.ParseFault(string(kind) + "=1%")
		if slices.Contains(listed, string(kind)) != (err == nil) {
			t.Errorf("%s is listed: %v; --fault says %v", kind, slices.Contains(listed, string(kind)), err)
		}
	}
	if help := newGeminiSimCmd(&factory{}).Long; !strings.Contains(help, "429-month") {
		t.Errorf("the kinds are not in the help:\n%s", help)
	}
}
