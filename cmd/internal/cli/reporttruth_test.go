package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestReportAverageIsNotAboveItsPeak: another run used the rest of the last minute.
func TestReportAverageIsNotAboveItsPeak(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 15, 16, 0, 0, time.UTC)
	q := reportQuota{StepMS: 60_000, Points: []reportPoint{{At: at, Bulk: 0.3}, {At: at.Add(time.Minute), Bulk: 0.8}, {At: at.Add(2 * time.Minute), Bulk: 0.8}}}
	q.sum(reviewInput{from: at.Add(30 * time.Second), to: at.Add(2*time.Minute + 15*time.Second)})
	want := (0.3*30 + 0.8*60 + 0.8*15) / 105
	if q.Peak != 0.8 || q.Average < want-1e-9 || q.Average > want+1e-9 {
		t.Errorf("average %v, peak %v, want an average of %v", q.Average, q.Peak, want)
	}
}

// TestReportOfDroppedRows: what rows took that are in the run no longer is not divided
// by those that are.
func TestReportOfDroppedRows(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "| A ROW |") || strings.Contains(out, "--update") {
		t.Error(out)
	}
	r.Run.Dropped, r.Rows, r.Good, r.Bad = 9801, 199, 199, 0
	out := rendered(t, r, "markdown")
	for _, want := range []string{"199 rows (9,801 more left it by --update)", "The calls of 9,801 rows that left it by --update are in this", "9,801 rows that left it by --update waited too"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "A ROW") {
		t.Error(out)
	}
}

// TestReportOfUnseenCalls: calls whose worker died are no part of the cost, and are said.
func TestReportOfUnseenCalls(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	const words = "Not in this: up to 11 calls whose answer was never seen, since their worker died"
	if out := rendered(t, r, "markdown"); strings.Contains(out, "Not in this") {
		t.Error(out)
	}
	r.Cost.Unseen = 11
	if out := rendered(t, r, "markdown"); !strings.Contains(out, words) {
		t.Errorf("no %q in\n%s", words, out)
	}
}

// TestReportOfCancelledRun: nothing is expected of what somebody stopped.
func TestReportOfCancelledRun(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "expected end") {
		t.Error(out)
	}
	r.States[jobs.Cancelled.String()], r.Cost.MicroUSD = 100, 5_000_000
	if out := rendered(t, r, "markdown"); strings.Contains(out, "expected end") || strings.Contains(out, "less than the least") {
		t.Error(out)
	}
}

// TestReportOfDays: a limit of a day is added up from the day's beginning in California,
// by whoever used it, and its reset is said.
func TestReportOfDays(t *testing.T) {
	t.Parallel()
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}
	from := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) // midnight there
	sample := func(after time.Duration, class string, sent int64) gemini.UsageSample {
		return gemini.UsageSample{At: from.Add(after), Region: "global", Model: "m", Class: class, Sent: sent, Requests: sent}
	}
	in := reviewInput{from: from, to: from.Add(26 * time.Hour), classes: []limiter.Class{{Name: "bulk", Pausable: true}, {Name: "interactive"}},
		hours: []gemini.UsageSample{sample(0, "bulk", 700), sample(time.Hour, "interactive", 100), sample(23*time.Hour, "bulk", 20), sample(24*time.Hour, "bulk", 5)}}
	r := sampleReport()
	r.To, r.Days = in.to, in.days(lane, limiter.Limit{Unit: limiter.Requests, Window: limiter.Day, Amount: 1000})
	want := []string{
		"rpd of m, limit 1,000 a day: 820 used (82.0 %) of the day that ends 08:00, 100 of it by those who wait.",
		"rpd of m, limit 1,000 a day: 5 used (0.5 %) of the day that ends Wed 08:00.",
	}
	if got := r.dayNotes(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q", got)
	}
}

// TestReportOfTiers: which tier served is said where one was asked for, or another than
// standard served.
func TestReportOfTiers(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Cost.Tiers = nil
	for _, s := range []gemini.MoneySample{{Tier: "standard", Calls: 2, MicroUSD: 20_000}, {Tier: "flex", Calls: 1, MicroUSD: 30_000}, {Tier: "flex", Calls: 3, MicroUSD: 10_000}} {
		r.Cost.addTier(s)
		if len(r.Cost.Tiers) == 1 && r.tierNote() != "" {
			t.Errorf("nobody asked: %q", r.tierNote())
		}
	}
	r.Run.Spec.Steer.ServiceTier = "flex"
	if got := r.tierNote(); got != "By the tier that served: flex 4 calls for $0.04, standard 2 calls for $0.02; asked for was flex." {
		t.Errorf("%q", got)
	}
}
