package dashboard

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// evil is what somebody may have put into a name, a row or an answer.
const evil = `<script>window.ran=1</script><img src=x onerror="window.ran=1">`

// addRunSources fills the pages of the history, of who used the quota, of runs and of
// what can be steered.
func addRunSources(s *Sources, now func() time.Time) {
	s.History = func(_ context.Context, q HistoryQuery) (HistoryView, error) { return busyHistory(now(), q), nil }
	s.HistoryCSV = func(_ context.Context, _ HistoryQuery, w io.Writer) error {
		_, err := io.WriteString(w, "time,feature,requests\n")
		return err
	}
	s.Who = func(_ context.Context, q WhoQuery) (WhoView, error) { return busyWho(now(), q, 3), nil }
	s.Runs = func(context.Context, RunsQuery) (RunsView, error) {
		return RunsView{Runs: busy(now()).Runs, Found: 2, All: 2, Open: 1}, nil
	}
	s.Run = func(_ context.Context, q RunQuery) (RunPageView, error) { return busyRun(now(), q, 2) }
	s.Steer = func(context.Context) (SteerView, error) { return busySteer(now()), nil }
}

// wave is a line of a chart.
func wave(n int, height, phase float64) (out []float64) {
	for i := range n {
		out = append(out, height*(1.2+math.Sin(phase+float64(i)/20)))
	}
	return out
}

func busyHistory(now time.Time, q HistoryQuery) HistoryView {
	if q.Unit == "colour" {
		return HistoryView{Problem: `--unit: "colour" is none`}
	}
	const n = 360
	gap := wave(n, 90, 1)
	for i := 200; i < 230; i++ {
		gap[i] = math.NaN()
	}
	from, step := now.Add(-6*time.Hour), time.Minute
	use := ChartView{ID: "use", Title: "Use by feature", Of: "requests a minute", Measure: Count, Stack: true, From: from, Step: step, Facts: []string{"chat has the largest part: 61.0 %."}, Lines: []LineView{
		{Name: "chat", Values: wave(n, 220, 0), Total: "94,100", Share: "61.0 %"}, {Name: evil, Values: gap, Total: "32,400", Share: "21.0 %"},
		{Name: "tags", Values: wave(n, 70, 2), Total: "27,700", Share: "18.0 %"}, {Name: "limit in force", Whole: true, Values: wave(n, 1, 0)},
	}}
	for i := range use.Lines[3].Values {
		use.Lines[3].Values[i] = 950
	}
	met := ChartView{ID: "met", Title: "Refused, falling back, coming again", Of: "calls and rows a step", Measure: Count, Sum: true, From: from, Step: step,
		Lines: []LineView{{Name: "429s of the provider", Values: wave(n, 3, 0), Total: "1,204"}, {Name: "refused by our limiter", Values: wave(n, 9, 1), Total: "3,801"}}}
	money := ChartView{ID: "money", Title: "Cost by feature", Of: "dollars a step", Measure: Dollars, Sum: true, Stack: true, From: from, Step: step,
		Lines: []LineView{{Name: "chat", Values: wave(n, 0.2, 0), Total: "$91.00"}, {Name: "tags", Values: wave(n, 0.1, 0), Total: "$41.00"}}}
	return HistoryView{From: from, To: now, Step: step, Asked: HistoryQuery{From: "6h", By: "feature", Unit: "rpm"}, Bys: []string{"feature", "tenant"},
		Units: []ChoiceView{{"rpm", "requests a minute"}}, Models: []string{"gemini-2.5-flash"}, Classes: []string{"interactive", "bulk"},
		Charts:   []ChartView{use, met, {ID: "loans", Title: "On loan", Measure: Count}, money},
		Met:      []CountsView{{Title: "Refused or put back by us, by limit", Of: []CountView{{"lane rpm", "3,801"}}}, {Title: "Came again after dispatch, sent back by"}},
		Forecast: &ForecastView{Month: "2026-11", Spent: "$312.40", Today: "$12.10", Expected: "$340.00", Low: "$331.00", High: "$352.00", Words: "Each day as the same day of the week."},
		Notes:    []string{"Nothing is known of 04:10 to 04:40: no process of the fleet was counting."}, Command: "nightshift quota history --from 6h --by feature --unit rpm"}
}

// busyWho has so many features besides the one with the script.
func busyWho(now time.Time, q WhoQuery, features int) WhoView {
	row := func(name, class string, share float64) WhoRow {
		use := func(unit string) WhoUse {
			return WhoUse{Unit: unit, Share: share, Avg: "avg 31.0 %", Peak: "peak 88.0 %"}
		}
		return WhoRow{Name: name, Class: class, Use: []WhoUse{use("rpm"), use("input_tpm"), use("output_tpm")}, Requests: int64(1e5 * share), Cost: "$4.20", Refused: 3, P95: 4100 * time.Millisecond}
	}
	v := WhoView{From: now.Add(-time.Hour), To: now, Asked: WhoQuery{From: "1h", By: "feature", Text: q.Text}, Bys: []ChoiceView{{"feature", "features"}, {"tenant", "tenants"}},
		Findings: []AdviceView{{Level: Bad, Text: "38 refusals of calls that people waited for in 7 minutes: tags (bulk) had 71.0 % of the requests."}, {Level: Note, Text: "If it goes on: nightshift pause bulk --until 30m."}},
		Culprit:  "bulk", Units: []WhoUnit{{"rpm", "1,000"}, {"input_tpm", "1,000,000"}, {"output_tpm", ""}}, Found: features + 1,
		Overlap: &OverlapView{Text: "7 minutes between 07:31 and 07:44", Rows: []WhoRow{row("tags", "bulk", 0.71)}, Found: 4}, Command: "nightshift quota who --from 1h"}
	v.Rows = append(v.Rows, row(evil, "bulk", 0.61))
	for i := range min(features, WhoOnPage-1) {
		v.Rows = append(v.Rows, row(fmt.Sprintf("feature-%05d", i), "bulk", 0.3/float64(features)))
	}
	return v
}

func busyRun(now time.Time, q RunQuery, failed int) (RunPageView, error) {
	if q.Ref == "none" {
		return RunPageView{}, fmt.Errorf("%w: no such run", ErrNotThere)
	}
	v := RunPageView{At: now, Run: busy(now).Runs[0], Facts: [][2]string{{"input", "tickets.jsonl, 50,000 rows"}, {"model", "gemini-2.5-flash"}}, Why: "bulk is paused by the health monitor",
		States: []CountView{{"waiting", "18,734"}, {"running", "14"}, {"done", "31,240"}, {"failed", "12"}}, ETA: "Done about 09:45 (in 2h00m).",
		Waits: []CountView{{"quota", "12h10m"}, {"window", "20m"}}, Over: &ChartView{ID: "over", Title: "Rows that have ended", Measure: Count, From: now.Add(-2 * time.Hour), Step: time.Minute, Lines: []LineView{{Name: "ended", Values: rising(120)}}},
		Causes:   []CauseView{{State: "failed", Cause: "safety", Only: "safety", Rows: int64(failed), Example: evil, Message: "blocked " + evil}},
		Settings: []SettingView{{"max-cost", "$40.00", "--max-cost when it was enqueued", "pause the run when its calls have cost so many DOLLARS"}, {"weight", "1", "default", ""}},
		Events:   []EventView{{At: now, Kind: "run", Text: "run nightly set: " + evil, By: "ana"}}, Found: failed}
	for i := range min(failed, FailedOnPage) {
		v.Failed = append(v.Failed, FailedRow{Row: fmt.Sprint(evil, i), State: "failed", Cause: "safety", Status: 400, Attempts: 1, Message: evil, Fields: `{"name": "` + strings.Repeat("long ", 60) + evil + `"}`, Output: evil, At: now})
	}
	return v, nil
}

func rising(n int) (out []float64) {
	for i := range n {
		out = append(out, float64(i*i))
	}
	return out
}

func busySteer(now time.Time) SteerView {
	return SteerView{Targets: []string{"gemini-2.5-flash", "class/bulk", "project"}, Models: []string{"gemini-2.5-flash"}, Set: 1,
		Overrides: []OverrideView{{Target: "gemini-2.5-flash", Name: "rpm", Value: "300", Configured: "1,000", By: "ana", Reason: evil, At: now}},
		Caps:      []CapView{{Target: "project", Name: "usd_per_month", Cap: 900_000_000, Spent: 700_000_000, Held: 12_000_000, Level: Warn, Note: "reached about Sat 14:00"}},
		Ramps:     []RampView{{Scope: "feature/chat", From: "gemini-2.5-flash", To: "gemini-3.5-flash", Share: "25 %", State: "moving", Active: true}},
		Classes:   []ClassView{{Name: "interactive"}, {Name: "bulk", Pausable: true, Level: Warn, Note: "paused: p95 4.1 s"}}}
}
