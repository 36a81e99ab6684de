package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"
)

// TestStoppedSentence: when bulk stops before its end, what the next call may cost is
// why; amounts that are not the same do not look it.
func TestStoppedSentence(t *testing.T) {
	t.Parallel()
	c := limiter.CapState{Node: "tenant/acme", Name: "usd_per_month", Used: 17_600, Soft: 18_400, Limit: limiter.Limit{Amount: 20_000}, Stopped: []string{"bulk"}, Next: 4_000}
	got := stoppedSentence(c, jobs.Run{}, time.Now())
	want := "bulk wait for budget: $0.0176 of $0.0200 is spent (usd_per_month of tenant/acme; they stop at $0.0184, " +
		"the rest is for those who wait for answers; the next call may cost up to $0.004000). "
	if !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Held = 16_000
	if got := stoppedSentence(c, jobs.Run{}, time.Now()); !strings.HasPrefix(got, "bulk wait for budget: $0.0016 of $0.0200 is spent and $0.0160 held by calls under way, ") {
		t.Errorf("what is held is said to be spent: %q", got)
	}
	c.Used, c.Held = 18_400, 0
	if got := stoppedSentence(c, jobs.Run{}, time.Now()); strings.Contains(got, "the next call") {
		t.Errorf("at the end of what it may have: %q", got)
	}
}

// TestRunStopped: a run that waits for its own cap is called by its name, in lines that
// fit, and whoever set no bound to answers hears that one lets more calls go.
func TestRunStopped(t *testing.T) {
	t.Parallel()
	c := limiter.CapState{Node: "run/mx3", Name: "usd_total", Used: 620_000, Held: 590_000, Limit: limiter.Limit{Amount: 1_000_000}, Stopped: []string{"bulk"}, Next: 590_000}
	run := jobs.Run{ID: "mx3", Spec: jobs.Spec{Name: "night"}}
	want := "waits for budget: $0.03 of --max-cost $1.00 is spent, $0.59 held by calls under way; the next may cost $0.59. " +
		"nightshift set night --max-cost DOLLARS lets more go"
	if got := stoppedSentence(c, run, time.Now()); got != want+"; --max-output-tokens N at enqueue makes calls hold less" {
		t.Errorf("%q", got)
	}
	run.Spec.Settings.MaxOutputTokens = 100
	table := newTable("RUN", "night")
	table.row("model", "x")
	table.row("but", stoppedSentence(c, run, time.Now()))
	table.wrap(100, "but")
	if got := table.rows[1][1]; strings.ReplaceAll(got, "\n", " ") != want || table.width() > 100 {
		t.Errorf("%d columns: %q", table.width(), got)
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

// TestUSDSpan: a span's ends are as precise as each alone.
func TestUSDSpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		span jobs.Span
		want []string
	}{
		{jobs.Span{Low: 4_900, Mid: 265_424_200, High: 1_061_696_800}, []string{"$0.004900", "$265.42", "$1,061.70"}},
		{jobs.Span{Low: 50_999_999, Mid: 51_000_000, High: 51_000_000}, []string{"$50.999999", "$51.000000", "$51.000000"}},
	} {
		low, mid, high := usdSpan(c.span)
		if got := []string{low, mid, high}; !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.span, got, c.want)
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
