package cli

import (
	"slices"
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
	r.Cost.Unseen, r.Cost.Attempts = 11, r.Cost.Calls+11
	if out := rendered(t, r, "markdown"); !strings.Contains(out, words+". Their rows") {
		t.Errorf("no %q in\n%s", words, out)
	}
	r.Cost.Attempts += 8
	if out := rendered(t, r, "markdown"); !strings.Contains(out, words+", and 8 that it died before counting") {
		t.Errorf("no 8 more in\n%s", out)
	}
	r.Cost.Unseen, r.At = 0, r.To.Add(time.Second) // what was not counted yet may still be
	if out := rendered(t, r, "markdown"); strings.Contains(out, "Not in this") {
		t.Error(out)
	}
	r.At = r.To.Add(time.Minute)
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "Not in this: 19 calls that a worker made and died before counting") {
		t.Error(out)
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

// TestReportOfExpiredRun: what a part of the rows cost is not held against the estimate of all.
func TestReportOfExpiredRun(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Ended, r.Cost.MicroUSD = true, 5_000
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "less than the least") {
		t.Error(out)
	}
	r.States[jobs.Expired.String()] = 100
	if out := rendered(t, r, "markdown"); strings.Contains(out, "less than the least") || !strings.Contains(out, "for all its rows") {
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
		"rpd of m, limit 1,000 a day: 820 used (82.0 %) of the day that ends 08:00 UTC, 100 of it by those who wait.",
		"rpd of m, limit 1,000 a day: 5 used (0.5 %) of the day that ends Wed 08:00 UTC.",
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
	for _, s := range []gemini.MoneySample{{Tier: "standard", Calls: 2, MicroUSD: 20_000}, {Tier: "flex", Calls: 1, MicroUSD: 30_000}, {Tier: gemini.TierNone, Calls: 9}, {Tier: "flex", Calls: 3, MicroUSD: 10_000}} {
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

// TestChartTimes: the times of a chart's axis are round ones of the page's clock, no more
// than there is room for, and none is near another or an edge.
func TestChartTimes(t *testing.T) {
	t.Parallel()
	kolkata := time.FixedZone("IST", 5*3600+1800)
	for _, c := range []struct {
		name   string
		from   time.Time
		step   time.Duration
		points int
		zone   *time.Location
		most   int
		first  string
		want   int
	}{
		{"a night", time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC), 5 * time.Minute, 98, time.UTC, 9, "23:00", 7},
		{"a night on a telephone", time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC), 5 * time.Minute, 98, time.UTC, 5, "00:00", 3},
		{"by hours, where clocks are half an hour off", time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC), time.Hour, 24, kolkata, 9, "06:30", 7},
		{"a week", time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC), 2 * time.Hour, 84, time.UTC, 9, "2 Dec", 6},
		{"ten minutes", time.Date(2026, 11, 30, 22, 3, 0, 0, time.UTC), time.Minute, 11, time.UTC, 5, "22:04", 5},
	} {
		q := reportQuota{}
		for i := range c.points {
			q.Points = append(q.Points, reportPoint{At: c.from.Add(time.Duration(i) * c.step)})
		}
		var said []string
		last := -1
		for i, label := range q.times(c.zone, c.most) {
			if label == "" {
				continue
			}
			if near := c.points / (2 * c.most); last >= 0 && i-last < near {
				t.Errorf("%s: %s is only %d of %d points after the one before", c.name, label, i-last, c.points)
			}
			said, last = append(said, label), i
		}
		if len(said) != c.want || len(said) > c.most || said[0] != c.first {
			t.Errorf("%s: %q, want %d from %s on", c.name, said, c.want, c.first)
		}
	}
}

// TestChartTimesOfAShortRun: no time stands twice on the axis of a chart of text.
func TestChartTimesOfAShortRun(t *testing.T) {
	t.Parallel()
	q := reportQuota{Peak: 0.5}
	for i := range 13 {
		q.Points = append(q.Points, reportPoint{At: at(7, 59).Add(time.Duration(10*i) * time.Second), Bulk: 0.5})
	}
	if got := q.ascii(time.Local); !strings.Contains(got, "07:59:00") || strings.Count(got, "08:00:30") != 1 {
		t.Errorf("%s", got)
	}
	q.Points = append(q.Points, reportPoint{At: at(9, 0)})
	if got := q.ascii(time.Local); !strings.Contains(got, "07:59 ") {
		t.Errorf("%s", got)
	}
}

// TestReportOfStoppedRun: no end that never came is early, late or on time.
func TestReportOfStoppedRun(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Missed = 20
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "not reached: its deadline ended 20 rows") {
		t.Error(out)
	}
	r.Missed, r.Ended, r.Open, r.Stands = 0, false, 400, "stopped by its cap"
	r.Run.Spec.Steer.Deadline = r.To.Add(time.Hour)
	out := rendered(t, r, "markdown")
	for _, want := range []string{"not reached: it is stopped by its cap, 400 rows open", "when it is done is not known: it is stopped by its cap"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, never := range []string{"on time", " late)", " early)", "Done about"} {
		if strings.Contains(out, never) {
			t.Errorf("%q in\n%s", never, out)
		}
	}
}

// TestReportExpectsNoCap: what answers may be at most is no expectation.
func TestReportExpectsNoCap(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Planned.Source, r.Planned.Cost = jobs.PlannedCap, &jobs.Span{Low: 1_000_000, Mid: 90_000_000, High: 90_000_000}
	if out := rendered(t, r, "markdown"); !strings.Contains(out, "| cost | $11.12 | - | $1.00 | up to $90.00 |") {
		t.Error(out)
	}
}

// TestChartAxis: the axis begins at zero and has round steps, also where the least that
// was used is a part of a percent.
func TestChartAxis(t *testing.T) {
	t.Parallel()
	q := reportQuota{Peak: 0.85}
	for i := range 20 {
		q.Points = append(q.Points, reportPoint{At: time.Unix(int64(60*i), 0), Bulk: 0.75, People: 0.004 + 0.001*float64(i%3)})
	}
	got, err := q.svg(time.UTC, false, chartWide)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">0 %<", ">20 %<", ">40 %<", ">60 %<", ">80 %<", ">100 %<"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the axis lacks %s", want)
		}
	}
}

// TestCapStands: whoever retries hears how far the cap lets the rows come.
func TestCapStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, most    int64
		done, waiting int64
		want          string
	}{
		{1_000_000, 10_000_000, 100, 100, ""},
		{1_000_000, 1_000_000, 100, 50, "they will stand: $1.00 of --max-cost $1.00 is spent. They go on after\n  nightshift set tags --max-cost 1.55"},
		{995_000, 1_000_000, 100, 50, "they will stand: "},
		{900_000, 1_000_000, 100, 50, "about 11 of them will go, then the run stands: $0.90 of --max-cost $1.00 is spent. For all:\n  nightshift set tags --max-cost 1.40"},
		{950_000, 1_000_000, 100, 3, "they may stand: $0.95 of --max-cost $1.00 is spent."},
	} {
		got := capStands("tags", c.used, c.most, jobs.Counts{jobs.Done: c.done, jobs.Waiting: c.waiting})
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestLimitsInForce: a step's use is a part of the limit that held then, not of today's.
func TestLimitsInForce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seen []int64
		want []int64
	}{
		{nil, []int64{240, 240, 240, 240}},
		{[]int64{0, 1200, 0, 240}, []int64{1200, 1200, 1200, 240}},
		{[]int64{300, 0}, []int64{300, 300, 300, 300}},
	} {
		if got := limitsInForce(tc.seen, 4, 240); !slices.Equal(got, tc.want) {
			t.Errorf("seen %v: %v, want %v", tc.seen, got, tc.want)
		}
	}
	begin := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	in := reviewInput{from: begin, to: begin.Add(3 * time.Minute), classes: []limiter.Class{{Name: "bulk", Pausable: true}}, levels: map[string][]int64{"rpm": {1200, 1200, 240}}}
	for i, n := range []int64{600, 600, 120} {
		in.minutes = append(in.minutes, gemini.UsageSample{At: begin.Add(time.Duration(i) * time.Minute), Model: "m", Region: "global", Class: "bulk", Requests: n})
	}
	q := in.chart(limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "m"}, limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute, Amount: 240}, time.Minute)
	if q.Amount != 1200 || q.Least != 240 || q.Peak != 0.5 || !strings.Contains(q.caption(time.UTC), "limit 240 to 1,200: 50.0 % used on average") {
		t.Errorf("%+v: %s", q, q.caption(time.UTC))
	}
}
