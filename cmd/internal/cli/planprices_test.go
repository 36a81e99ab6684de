package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// TestPlanPricesByDate: rows that are called after a change of the price are counted at
// the new one; a plan that ends before it knows of none, and one without an end says
// which it took.
func TestPlanPricesByDate(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "models: {gemini-3.8-flash: {rpm: 600}}\nrun: {model: gemini-3.8-flash}")
	if err != nil {
		t.Fatal(err)
	}
	turn := time.Date(2027, 1, 1, 8, 0, 0, 0, time.UTC) // midnight in California: $1 for 1,000 + 1,000 tokens becomes $2
	b := &batch{Prepared: &jobs.Prepared{Rows: 72_000, Spec: jobs.Spec{Model: "gemini-3.8-flash", Kind: jobs.Generate}}}
	e := evidence{source: jobs.PlannedFormer, tried: []gemini.Usage{{Prompt: 1000, Candidates: 1000}}}
	plan := func(at time.Time) (planReport, prospect) {
		p := prospectOf(at, b.Rows) // 600 a minute: two hours
		r := planReport{need: l.need(b, e, b.Rows, at), Known: true, Done: at.Add(2 * time.Hour)}
		return r, p
	}
	r, p := plan(turn.Add(-3 * time.Hour))
	before := r.Tiers[0].Cost.Mid
	r.byDate(l, p, b, e)
	if len(r.Dates) > 0 || r.Tiers[0].Cost.Mid != before {
		t.Errorf("it ends before the change: %+v", r.Dates)
	}
	r, p = plan(turn.Add(-30 * time.Minute))
	r.byDate(l, p, b, e)
	got := float64(r.Tiers[0].Cost.Mid) / float64(before)
	if len(r.Dates) != 1 || !r.Dates[0].At.Equal(turn) || got < 1.73 || got > 1.77 { // a quarter at the old price
		t.Errorf("%.3f times the cost: %+v", got, r.Dates)
	}
	table := newTable("", "")
	r.priceRows(table, p.now)
	if words := table.rows[0][1]; !strings.Contains(words, "prices change "+r.clock(turn, p.now)+": 1") || !strings.HasSuffix(words, " after") {
		t.Error(words)
	}
	r, p = plan(turn.Add(-30 * time.Minute))
	r.Known = false
	r.byDate(l, p, b, e)
	table = newTable("", "")
	r.priceRows(table, p.now)
	if r.Tiers[0].Cost.Mid != before || len(table.rows) != 1 || !strings.Contains(table.rows[0][1], "these are today's") {
		t.Errorf("without an end: %+v", r.Dates)
	}
}

// TestLinesOwnCaps: lines of a batch file say how long their answers may get; a cap
// in money is held against the longest of them.
func TestLinesOwnCaps(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "models: {gemini-3.5-flash: {rpm: 60}}\nspend: {usd_per_month: 0.5}")
	if err != nil {
		t.Fatal(err)
	}
	b := &batch{caps: answerCaps{model: 65_536}}
	for _, most := range []int32{100, 300, 100_000} {
		b.caps.add(&jobs.Settings{MaxOutputTokens: most})
	}
	b.caps.add(nil)
	if b.caps.sum != 100+300+2*65_536 || b.caps.most != 65_536 {
		t.Errorf("%+v", b.caps)
	}
	spec := jobs.Spec{Model: "gemini-3.5-flash", Kind: jobs.Generate, Class: "bulk", Feature: "bulk", Lines: jobs.LinesGemini}
	b.Prepared = &jobs.Prepared{Rows: 3, Spec: spec}
	b.caps = answerCaps{model: 65_536, sum: 700, most: 300}
	if n, err := b.meanCap(l); err != nil || n != 234 {
		t.Errorf("%d (%v), want 234", n, err)
	}
	if b.quota, err = l.quotaOf(spec.Model); err != nil {
		t.Fatal(err)
	}
	if err := b.linesTooDear(l, time.Now()); err != nil {
		t.Errorf("short answers: %v", err)
	}
	b.caps.most = 65_536
	if err := b.linesTooDear(l, time.Now()); err == nil || !strings.Contains(err.Error(), "lets bulk have $0.46") {
		t.Errorf("a long one: %v", err)
	}
}

// TestEvicts: a Redis that forgets what waits is warned of, with the mend.
func TestEvicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    memory
		want string
	}{
		{memory{most: 1 << 30, used: 1 << 20, policy: "allkeys-lru"}, "maxmemory-policy allkeys-lru, 1.0 MiB of 1.0 GiB in use"},
		{memory{most: 1 << 30, policy: "volatile-ttl"}, "CONFIG SET maxmemory-policy noeviction"},
		{memory{most: 1 << 30, policy: "noeviction"}, ""},
		{memory{most: 1 << 30, machine: true, policy: "allkeys-lru"}, ""},
		{memory{}, ""},
	} {
		if got := c.m.evicts(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q", c.m, got)
		}
	}
}
