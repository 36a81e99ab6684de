package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// prospectOf is a run of so many rows alone in the night's lane, 600 a minute.
func prospectOf(now time.Time, rows int64, gates ...gate) prospect {
	s := nightLane()
	s.Leaves = nil
	own := openRun(prospectID, jobs.Normal, rows)
	own.gates = gates
	p := prospect{outlook: newOutlook(s, []runStatus{own}, 0, now)}
	p.cost[limiter.Requests] = 1
	return p
}

func window(t *testing.T, text string) scheduler.Window {
	t.Helper()
	w, err := scheduler.ParseTimetable("--window", text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPlanTime: rows go by the timetable, over as many nights as it takes, and by
// daylight saving time.
func TestPlanTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, window string
		now          time.Time
		rows         int64
		want         time.Duration
	}{
		{"no window", "", now, 600 * 60, time.Hour},
		{"closed until ten", "22:00-07:00@100%, else @0%", now, 600 * 60, 5 * time.Hour},
		{"two nights", "22:00-07:00@100%, else @0%", now, 600 * 60 * 10, 4*time.Hour + 24*time.Hour + time.Hour},
		{"a tenth by day", "22:00-07:00@100%, else @10%", now, 60*60*4 + 600*60, 5 * time.Hour},
		{"so many a minute", "22:00-07:00@300rpm, else @0%", now, 300 * 60, 5 * time.Hour},
		{"never", "00:00-00:01@0%, else @0%", now, 1, 0},
		// Berlin's clock jumps from 02:00 to 03:00: the night has an hour less.
		{"the night of the change", "22:00-07:00@100%, else @0% in Europe/Berlin", time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC), 600 * 60 * 9, 24 * time.Hour},
	} {
		var gates []gate
		if c.window != "" {
			gates = append(gates, window(t, c.window))
		}
		f, known := prospectOf(c.now, c.rows, gates...).end()
		if known != (c.want > 0) || known && (f.took-c.want).Abs() > time.Minute {
			t.Errorf("%s: %s (known: %v), want %s", c.name, f.took, known, c.want)
		}
		if alone, _ := prospectOf(c.now, c.rows, gates...).needs(); (alone.took - time.Duration(c.rows)*time.Minute/600).Abs() > time.Second {
			t.Errorf("%s: needs %s of the limits", c.name, alone.took)
		}
	}
}

// TestPlanWays: what is suggested makes the deadline by the same forecast, and
// nothing is suggested that does not.
func TestPlanWays(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	deadline := now.Add(13 * time.Hour) // 07:00
	p := prospectOf(now, 600*60*10, window(t, "22:00-07:00@100%, else @0%"))
	ways := p.ways(deadline, "m")
	var said []string
	for _, w := range ways {
		if w.Done.After(deadline) {
			t.Errorf("%s: done %s, after the deadline", w.What, w.Done)
		}
		said = append(said, w.What)
	}
	for _, want := range []string{"raise rpm to ", "open the window 1h00m earlier, at " + now.Add(3*time.Hour).Local().Format("15:04 MST"), "split the input: "} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(said, "\n"))
		}
	}
	// 39 % are the others', of a larger limit too: nine hours of 667 a minute, where 1,000
	// of limit give 600, and 1,100 would give 660.
	if !strings.Contains(said[0], "1,2") || !strings.Contains(ways[0].Do, "nightshift quota set m rpm=1200") {
		t.Errorf("%s: %s", said[0], ways[0].Do)
	}
	if p := prospectOf(now, 100, window(t, "22:00-23:00@0%, else @0%")); len(p.ways(deadline, "m")) > 0 {
		t.Errorf("a window that never opens is made by %v", p.ways(deadline, "m"))
	}
	rival := openRun("r", jobs.Normal, 1_000_000)
	p = prospectOf(now, 600*60)
	p.runs = append(p.runs, newOutlook(p.lane, []runStatus{rival}, 0, now).runs...)
	if w, ok := p.favoured(now.Add(80*time.Minute), "m"); !ok || !strings.HasPrefix(w.What, "--weight 4 ") {
		t.Errorf("beside another run: %+v", w)
	}
}

// TestPlanCost: amounts at the book's prices, per tier, from what is known best.
func TestPlanCost(t *testing.T) {
	t.Parallel()
	l, err := loadText(t, "run: {model: gemini-2.5-flash}\nmodels: {gemini-2.5-flash: {rpm: 10}, gemini-2.5-pro: {rpm: 10}}")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	b := &batch{Prepared: &jobs.Prepared{Rows: 1000, Spec: jobs.Spec{Model: "gemini-2.5-flash", Kind: jobs.Generate}}}
	for range 1000 {
		b.sized.add(b.texts.Add(strings.Repeat("word ", 1000)))
	}
	tried := evidence{source: jobs.PlannedFormer, tried: []gemini.Usage{{Prompt: 1000, Candidates: 100}, {Prompt: 1000, Candidates: 300}}}
	n := l.need(b, tried, 1000, at)
	// 1,000 × (1,000 × $0.30 + 200 × $2.50) a million.
	if n.Output.Mid != 200_000 || n.Input != (jobs.Span{Low: 1_000_000, Mid: 1_000_000, High: 1_000_000}) {
		t.Errorf("tokens in %+v, out %+v", n.Input, n.Output)
	}
	want := map[string]int64{"standard": 800_000, "flex": 400_000, "batch": 400_000, "priority": 1_600_000}
	for _, tier := range n.Tiers {
		if tier.Cost.Mid != want[tier.Tier] || tier.Used != (tier.Tier == "standard") {
			t.Errorf("%s: %+v, want likely %d", tier.Tier, tier, want[tier.Tier])
		}
		delete(want, tier.Tier)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
	n = l.need(b, evidence{source: jobs.PlannedCap, most: 1000}, 500, at)
	if n.Output != (jobs.Span{Mid: 500_000, High: 500_000}) || n.Input.High != 540_000 || n.Input.Low != 459_000 {
		t.Errorf("half of the rows by the cap: in %+v, out %+v", n.Input, n.Output)
	}
	// Prompts above 200,000 tokens are dearer as a whole.
	b.Spec.Model, b.Rows = "gemini-2.5-pro", 2
	b.sized = sizes{long: l.longPrompts("gemini-2.5-pro", at)}
	b.texts = gemini.Texts{}
	for _, words := range []int{1000, 300_000} {
		b.sized.add(b.texts.Add(strings.Repeat("word ", words)))
	}
	n = l.need(b, evidence{source: jobs.PlannedCap}, 2, at)
	if got := n.Tiers[0].Cost.High; got != 1_080*1250/1000+324_000*2500/1000 {
		t.Errorf("a short and a long prompt cost %d", got)
	}
}

// TestPlanOfFailedRows: an enqueue under the run's name leaves rows that failed to retry,
// so that plan counts what it would call for; under another name they are asked again.
func TestPlanOfFailedRows(t *testing.T) {
	t.Parallel()
	s := newSteeredOn(t, benchRedis(t))
	for row := range int64(3) {
		s.end(row, jobs.Failed, "schema")
	}
	input := filepath.Join(filepath.Dir(s.be.conf.File), "rows.csv")
	plan := func(name string) (p planReport) {
		t.Helper()
		var out bytes.Buffer
		root := newRootCmd(&streams{In: strings.NewReader(""), Out: &out, Err: io.Discard})
		root.SetArgs([]string{"plan", input, "--prompt", "{{.id}}", "--model", "m", "--feature", "test", "--name", name, "--output", "json",
			"--config", s.be.conf.File, "--redis", "redis://" + s.be.rdb.(*redis.Client).Options().Addr})
		s.check(root.ExecuteContext(t.Context()))
		s.check(json.Unmarshal(out.Bytes(), &p))
		if p.Unknown != "" {
			t.Fatal(p.Unknown)
		}
		return p
	}
	if p := plan("night"); p.Stand.Failed != 3 || p.Stand.Open != 7 || p.Stand.asked() != 7 {
		t.Errorf("in the run itself: %+v, for %d rows", p.Stand, p.Stand.asked())
	}
	if p := plan("other"); p.Stand.Failed != 0 || p.Stand.Stale+p.Stand.Open+p.Stand.New != 10 || p.Stand.asked() != 10 {
		t.Errorf("of a new run: %+v, for %d rows", p.Stand, p.Stand.asked())
	}
	for row := int64(3); row < 10; row++ {
		s.end(row, jobs.Failed, "schema")
	}
	table := newTable("PLAN", "")
	plan("night").Stand.noneAsked(table)
	if got := fmt.Sprint(table.rows); !strings.Contains(got, "10 ended in run night without a good answer: enqueue leaves them, nightshift retry night asks again") || strings.Contains(got, "answered already") {
		t.Error(got)
	}
}

// TestPlanWords: a plan in words that people read.
func TestPlanWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 9_999: "9,999", 639_552: "640k", 1_310_720_000: "1.31G", 57_500: "57.5k"} {
		if got := short(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	if got := (planStand{Open: 199, Than: "night", forced: "--force"}).openWords(); got != "as run night asks them" {
		t.Error(got)
	}
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.Local)
	late := planReport{Known: true, Done: now.Add(15 * time.Hour), Deadline: now.Add(13 * time.Hour), Late: 7200}
	if got := late.deadlineLine(now); got != "Tue 1 Dec 07:00 "+now.Format("MST")+": missed by 2h00m; no single change makes it" {
		t.Error(got)
	}
	p := &jobs.Planned{Cost: &jobs.Span{Low: 1_200_000, Mid: 2_000_000, High: 3_400_000}, Source: jobs.PlannedLearned, Done: now.Add(11 * time.Hour)}
	if got := plannedLine(p, now); got != "$1.20 to $3.40, likely $2.00, done Tue 05:00 "+now.Format("MST") {
		t.Error(got)
	}
}

// TestPlanSpans: the time lies between that of rows which take the least and the most
// that was seen; where only the longest answer is known, it is not told.
func TestPlanSpans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)
	p := prospectOf(now, 6000)
	p.lane.Limits = append(p.lane.Limits, limiter.LimitState{
		Limit: limiter.Limit{Unit: limiter.InputTokens, Amount: 61_000}, Name: "input_tpm", Effective: 61_000, Classes: []limiter.ClassUse{{Class: "bulk"}},
	})
	n := need{Rows: 6000, Source: jobs.PlannedSample, Input: jobs.Span{Low: 6000 * 50, Mid: 6000 * 200, High: 6000 * 300}}
	p.cost = n.costs()
	r := planReport{need: n}
	r.time(p, &batch{})
	if want := []int64{600, 1800}; r.Needs != 1200 || !slices.Equal(r.NeedsSpan, want) {
		t.Errorf("needs %d s, between %v; want 1200, %v", r.Needs, r.NeedsSpan, want)
	}
	if got := r.doneLine(now); !strings.HasSuffix(got, "20m00s from now (between 10m00s and 30m00s)") {
		t.Error(got)
	}
	beside := p
	rival := newOutlook(p.lane, []runStatus{openRun("other", jobs.Normal, 6000)}, 0, now).runs
	beside.runs, beside.theirs = append(slices.Clone(p.runs), rival...), costs{1, 1000}
	beside.cost = mixed(n.costs(), n.Rows, beside.theirs, rival)
	r = planReport{need: n}
	if r.time(beside, &batch{}); len(r.DoneSpan) != 2 || r.Done.Before(r.DoneSpan[0]) || r.Done.After(r.DoneSpan[1]) {
		t.Errorf("beside dear rows of another run it is done at %v, between %v", r.Done, r.DoneSpan)
	}
	r = planReport{need: n}
	r.Source = jobs.PlannedCap
	if r.time(p, &batch{}); r.NeedsSpan != nil || r.DoneSpan != nil {
		t.Errorf("told of the longest answer: %v, %v", r.NeedsSpan, r.DoneSpan)
	}
}
