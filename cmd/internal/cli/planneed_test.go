package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestNeedOfOtherRows: rows of another input say how long answers get, and nothing of
// how long these prompts are or how sure that is.
func TestNeedOfOtherRows(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "run: {model: gemini-2.5-flash}\nmodels: {gemini-2.5-flash: {rpm: 10}}")
	if err != nil {
		t.Fatal(err)
	}
	b := &batch{Prepared: &jobs.Prepared{Rows: 2, Spec: jobs.Spec{Model: "gemini-2.5-flash", Kind: jobs.Generate}}}
	for range 2 {
		b.sized.add(b.texts.Add(strings.Repeat("word ", 1000)))
	}
	tried := []gemini.Usage{{Prompt: 10, Candidates: 100}, {Prompt: 10, Candidates: 300}}
	n := l.need(b, evidence{source: jobs.PlannedFormer, tried: tried, foreign: true, most: 250}, 2, time.Now())
	if n.Input.Low < 1500 || n.Output.Low >= n.Output.High || n.Output.High != 500 {
		t.Errorf("in %+v, out %+v", n.Input, n.Output)
	}
	if cost := n.Tiers[0].Cost; cost.Low == cost.High || cost.Low < 450 {
		t.Errorf("cost %+v", cost)
	}
	n = l.need(b, evidence{source: jobs.PlannedFormer, tried: tried, most: 1000}, 2, time.Now())
	if n.Output != (jobs.Span{Low: 400, Mid: 400, High: 400}) {
		t.Errorf("all rows were tried: out %+v", n.Output)
	}
}

// TestUsedTier: auto goes by flex until the deadline is near.
func TestUsedTier(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for left, want := range map[time.Duration]string{8 * time.Hour: "flex", 20 * time.Minute: "standard"} {
		s := jobs.Spec{Steer: jobs.Steering{ServiceTier: jobs.TierAuto, Deadline: now.Add(left)}}
		if got := l.usedTier(s, now); got != want {
			t.Errorf("%s before the deadline: %s", left, got)
		}
	}
}

// TestMeanCap: outputs have caps of their own.
func TestMeanCap(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "run: {model: gemini-2.5-flash}\nmodels: {gemini-2.5-flash: {rpm: 10}}")
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Spec{Model: "gemini-2.5-flash", Outputs: []jobs.Output{{Settings: jobs.Settings{MaxOutputTokens: 100}}, {Settings: jobs.Settings{MaxOutputTokens: 20}}}}
	if got, err := l.meanCap(s); err != nil || got != 60 {
		t.Errorf("%d, %v", got, err)
	}
}

// TestDayCapOfANode: a limit that only the day has is no reason for a forecast not to
// know the end, and rows that it does not have room for come on the days after.
func TestDayCapOfANode(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	for day, want := range map[int64]forecast{
		5_000_000: {time.Minute, "rpm", 0, 0},
		300:       {10 * time.Hour, "usd_per_day of project", 1, 0},
	} {
		p := prospectOf(now, 600)
		p.cost[limiter.MicroUSD] = 1
		node := limiter.NodeState{Node: "project", Limits: []limiter.LimitState{{
			Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Day, Amount: day}, Name: "usd_per_day", Effective: day,
			Classes: []limiter.ClassUse{{Class: "bulk"}},
		}}}
		p.runs[0].nodes = []limiter.NodeState{node}
		f, known := p.end()
		if f.took = f.took.Round(time.Minute); !known || f != want {
			t.Errorf("%d a day: %+v, %v; want %+v", day, f, known, want)
		}
		if short := p.short(600); (len(short) == 1 && short[0].day) != (day < 600) {
			t.Errorf("%d a day: short are %+v", day, short)
		}
	}
}

// TestCapRows: what a cap of the day leaves is said before anybody waits for the end.
func TestCapRows(t *testing.T) {
	t.Parallel()
	table := newTable("", "")
	planReport{Caps: []capNote{{Cap: "usd_per_day", Left: 50_000, Rows: 20, Day: true}}}.capRows(table)
	if s := strings.Join(table.rows[0], " "); !strings.Contains(s, "usd_per_day leaves $0.05: about 20 of the rows today") {
		t.Error(s)
	}
}

// TestPlanRamp: a run that starts slowly is done later.
func TestPlanRamp(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	slow := starting{jobs.Steering{Ramp: 20 * time.Minute, RampFrom: now}}
	f, known := prospectOf(now, 6000, slow).end()
	if !known || f.took < 12*time.Minute || f.took > 20*time.Minute {
		t.Errorf("%+v, %v", f, known)
	}
	if opens := prospectOf(now, 6000, slow).ways(now.Add(11*time.Minute), "m"); strings.Contains(opens[0].What, "window") {
		t.Errorf("%+v", opens)
	}
}

// TestPricesBeside: a file of prices is beside the configuration that names it.
func TestPricesBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nightshift.yaml")
	if err := os.WriteFile(conf, []byte("spend: {prices: nowhere.yaml}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadConfig(conf, nil, nil); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "nowhere.yaml")) {
		t.Error(err)
	}
}

// TestMaxCostOfLines: the model that a batch file's lines name is priced once it is
// known, and the longest of their answers is held against --max-cost.
func TestMaxCostOfLines(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "run: {model: gemini-2.5-flash}\nmodels: {gemini-2.5-flash: {rpm: 10}}")
	if err != nil {
		t.Fatal(err)
	}
	s := jobs.Spec{Kind: jobs.Generate, Steer: jobs.Steering{MaxCost: 50_000_000}}
	if err := l.cannotCap(s, time.Now()); err != nil {
		t.Error(err)
	}
	s.Steer.MaxCost = 1
	b := &batch{}
	if s.Model, s.Lane, err = b.namedModel(l, s, time.Now())(""); err != nil {
		t.Fatal(err)
	}
	b.Prepared = &jobs.Prepared{Spec: s}
	b.caps.add(nil)
	if err := b.linesTooDear(l, time.Now()); err == nil || !strings.Contains(err.Error(), "--max-cost: one row may cost") {
		t.Error(err)
	}
}

// TestMeanPrice: a mean call may have a fraction of a token; what many of them cost is
// not rounded up for each.
func TestMeanPrice(t *testing.T) {
	t.Parallel()
	price := func(u gemini.Usage) float64 { return 3*float64(u.Prompt) + 7*float64(u.Candidates) }
	if got := meanPrice(price, 215.25, 18.5); got != 3*215.25+7*18.5 {
		t.Errorf("%v", got)
	}
}
