package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// hostile is a text that a page must not take for more than a text.
const hostile = `<script>alert(1)</script>|"x" & ` + "`y`"

// sampleReport is a night with something of everything.
func sampleReport() *runReport {
	from := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	r := &runReport{
		At: from.Add(9 * time.Hour), Zone: "UTC", From: from, To: from.Add(8*time.Hour + 5*time.Minute), Ended: true, Phase: "ended, some failed",
		Planned: &jobs.Planned{Rows: 10_000, Input: jobs.Span{Low: 2_000_000, Mid: 2_100_000, High: 2_200_000}, Output: jobs.Span{Low: 900_000, Mid: 1_000_000, High: 1_300_000},
			Cost: &jobs.Span{Low: 9_000_000, Mid: 10_500_000, High: 12_000_000}, Done: from.Add(7*time.Hour + 30*time.Minute)},
		Run: jobs.Run{ID: "mx000000abcd", Input: "catalog.jsonl", Rows: 10_000, Created: from,
			Spec: jobs.Spec{Name: "catalog", Model: "gemini-3.5-flash", Feature: "catalog", Priority: jobs.Normal}},
		Rows: 10_000, Good: 9_884, Bad: 116, States: map[string]int64{"done": 9_884, "failed": 96, "blocked": 20},
		Failed: []*cause{
			{State: "failed", Cause: "schema", Rows: 96, Example: hostile, Message: "the answer breaks the schema: /title: " + hostile},
			{State: "blocked", Cause: "safety", Rows: 20, Example: "sku-00412", Message: "the prompt was blocked (SAFETY)"}},
		Cost:   reportCost{Known: true, Calls: 10_212, Input: 2_101_344, Output: 1_034_221, MicroUSD: 11_120_000},
		Waits:  []reportWait{{"quota", 3_600_000 * 3000}, {"window", 3_600_000 * 900}, {"health", 3_600_000 * 120}, {"errors", 60_000 * 90}},
		People: []reportPeople{{Class: "interactive", Calls: 48_120, Refused: 12, P95MS: 1_240, WorstMS: 3_910, WorstAt: from.Add(8 * time.Hour)}},
		Events: []reportEvent{
			{limiter.Event{At: from.Add(8 * time.Hour), Kind: limiter.EventThrottle, Subject: "bulk", Text: "bulk yields: p95 4.1 s of chat"}, 1},
			{limiter.Event{At: from.Add(3 * time.Hour), Kind: limiter.EventProvider, Text: "the provider fails for gemini-3.5-flash: " + hostile}, 3},
			{limiter.Event{At: from.Add(8*time.Hour + 5*time.Minute), Kind: scheduler.EventRun, Subject: "mx000000abcd", Text: "run catalog has ended"}, 1}},
		Quota:   []reportQuota{{Model: "gemini-3.5-flash", Limit: "rpm", Amount: 1000, StepMS: 300_000}},
		Unknown: []string{},
	}
	q := &r.Quota[0]
	for i := range 97 {
		at := float64(i) / 96
		q.Points = append(q.Points, reportPoint{At: from.Add(time.Duration(i) * 5 * time.Minute), Bulk: max(0.1, 0.93-0.9*max(0, at-0.9)*8+0.02*math.Sin(float64(i))), People: 0.01 + 0.35*max(0, at-0.85)*6})
	}
	q.sum(reviewInput{from: r.From, to: r.To})
	r.do(r.failedSteps()...)
	return r
}

func rendered(t *testing.T, r *runReport, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReportSaysWhatToDoFirst: the commands that mend stand before anything else but
// the title and what came of it, in every format that people read.
func TestReportSaysWhatToDoFirst(t *testing.T) {
	for _, format := range []string{"terminal", "markdown", "html"} {
		out := rendered(t, sampleReport(), format)
		at := -1
		for _, want := range []string{"Ended 06:05 UTC after 8 h 5 min: 9,884 of 10,000 rows are good, 116 are not.", "nightshift retry catalog --only schema", "nightshift retry catalog --only safety",
			"What failed", "Cost", "$11.12 for 10,212 calls; expected were $9.00 to $12.00, so that it is within.", "Where the time went", "for quota", "Quota over the time", "used on average", "those who wait saw", "48,120", "What happened", "(3 times)"} {
			i := strings.Index(out[at+1:], want)
			if i < 0 {
				t.Errorf("%s: no %q after byte %d:\n%.3000s", format, want, at, out)
				break
			}
			at += 1 + i
		}
	}
}

// TestReportTerminalWidth: a page fits a terminal, however long an example is.
func TestReportTerminalWidth(t *testing.T) {
	for line := range strings.Lines(rendered(t, sampleReport(), "terminal")) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > pageWidth {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// TestReportEscapes: what rows and the API wrote stays text.
func TestReportEscapes(t *testing.T) {
	html := rendered(t, sampleReport(), "html")
	if strings.Contains(html, "<script") || !strings.Contains(html, "&lt;script&gt;alert(1)") {
		t.Error("a row's id is markup of the page")
	}
	for _, far := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(html, "http://www.w3.org/", ""), far) {
			t.Errorf("the page wants something from elsewhere: %q", far)
		}
	}
	md := rendered(t, sampleReport(), "markdown")
	for block := range strings.SplitSeq(md, "\n\n") {
		bars := -1
		for line := range strings.Lines(block) {
			if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") {
				if bars >= 0 && n != bars {
					t.Errorf("a cell broke its row: %s", line)
				}
				bars = n
			}
		}
	}
	if strings.Contains(md, "<script") {
		t.Error("a row's id is markup of the Markdown")
	}
}

// TestReportKept: what `run` leaves is the whole report, found by name, id and age, and
// the oldest goes.
func TestReportKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	want := sampleReport()
	want.Run.ID = "mx000051abcd"
	for i := range keptReports + 2 {
		r := sampleReport()
		r.Run.ID, r.Run.Spec.Name = fmt.Sprintf("mx%06d", i), ""
		if err := r.keep(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := want.keep(dir); err != nil {
		t.Fatal(err)
	}
	if names := reportFiles(dir); len(names) != keptReports || filepath.Base(names[0]) != "mx000003.json" {
		t.Errorf("%d kept, the first is %s", len(names), names[0])
	}
	if err := os.WriteFile(filepath.Join(dir, "zz.json"), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"", "catalog", "mx000051ab"} {
		r, found := savedReport(dir, ref)
		if !found || rendered(t, r, "terminal") != rendered(t, want, "terminal") {
			t.Errorf("%s: found %v, and not as it was", ref, found)
		}
	}
	if _, found := savedReport(dir, "nothing"); found {
		t.Error("a run that never was has a report")
	}
}

// TestReportJSON: programs read all of it, with names that stay.
func TestReportJSON(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal([]byte(rendered(t, sampleReport(), "json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "do", "states", "failed", "cost", "waits", "quota", "people", "events", "ended", "unknown"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no %q", name)
		}
	}
}

// TestReportOpen: a run that goes on says so, when it will be done, and what holds it.
func TestReportOpen(t *testing.T) {
	r := sampleReport()
	r.Ended, r.Open, r.Phase, r.ETA, r.To = false, 400, "waiting for quota", r.To.Add(time.Hour), r.At
	r.Good, r.Do = 9_484, nil
	r.do(pauseStep(limiter.Pause{Reason: scheduler.ReasonBrake, Detail: "50 rows ended for one cause (schema)."}, "catalog", 400, time.Time{}))
	out := rendered(t, r, "terminal")
	for _, want := range []string{"Still open: 9,484 of 10,000 rows are good, 116 are not, 400 are to come (waiting for quota). Done", "about 07:05 UTC.", "its brake stopped it; 400 rows are left: 50 rows ended for one cause (schema). Mend that, then:", "    nightshift resume catalog"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q:\n%.900s", want, out)
		}
	}
}

// TestPauseOverDeadline: rows that a pause holds until after their deadline end there, and
// do not go on by themselves.
func TestPauseOverDeadline(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 21, 31, 40, 0, time.Local)
	for until, want := range map[time.Time]string{
		at.Add(time.Minute):  "92 rows are left and end without a call at the deadline, Mon 21:31:40 " + at.Format("MST") + ", before the pause does. To go on now",
		{}:                   "92 rows are left and end without a call at the deadline, Mon 21:31:40 " + at.Format("MST") + ", before the pause does. To go on now",
		at.Add(-time.Minute): "92 rows are left and go on by themselves Mon 21:30 " + at.Format("MST") + ". To go on now",
	} {
		if got := pauseStep(limiter.Pause{Reason: scheduler.ReasonOperator, Owner: "mari", Until: until}, "pz", 92, at); got.Why != "mari paused it; "+want {
			t.Errorf("%s: %s", until, got.Why)
		}
	}
}

// TestRetryAfterDeadline: a retry whose rows would end at once is not said without the
// step that comes first.
func TestRetryAfterDeadline(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Run.Spec.Steer.Deadline = r.At.Add(-time.Hour)
	r.Run.Spec.Steer.OnLate = jobs.LateStop
	if got := retryCommand(r.Run, "deadline", r.At); got != "nightshift set catalog --deadline TIME, then nightshift retry catalog --only deadline" {
		t.Error(got)
	}
	r.Run.Spec.Steer.OnLate = "continue"
	if got := retryCommand(r.Run, "deadline", r.At); got != "nightshift retry catalog --only deadline" {
		t.Error(got)
	}
}

// TestReportSaysStopsOnce: the alert and the event of the run's life are one line.
func TestReportSaysStopsOnce(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	r.Events = nil
	at, text := r.From.Add(time.Hour), "run catalog is stopped by its brake: 5 rows ended for one cause"
	r.addEvent(limiter.Event{At: at, Kind: limiter.EventAlert, Subject: "run/" + r.Run.ID, Text: text})
	r.addEvent(limiter.Event{At: at, Kind: limiter.EventPause, Text: "paused"})
	r.addEvent(limiter.Event{At: at.Add(time.Second), Kind: scheduler.EventRun, Subject: r.Run.ID, Text: text})
	r.addEvent(limiter.Event{At: at.Add(2 * time.Hour), Kind: scheduler.EventRun, Subject: r.Run.ID, Text: text})
	if len(r.Events) != 3 {
		t.Errorf("%d lines: %v", len(r.Events), r.Events)
	}
}

// TestReportDeadline: a deadline that has passed with rows open is never on time.
func TestReportDeadline(t *testing.T) {
	deadline := time.Date(2026, 11, 30, 15, 21, 0, 0, time.UTC)
	for _, c := range []struct {
		ended        bool
		to, eta      int // seconds after the deadline
		open, missed int64
		want         string
	}{
		{true, 0, 0, 0, 0, "(on time)"},
		{true, 36, 0, 0, 0, "(36 s late)"},
		{true, -30, 0, 0, 0, "(30 s early)"},
		{true, 1, 0, 0, 4, "(missed: 4 rows ended at it)"},
		{false, 36, 0, 4, 0, "(36 s late, 4 rows open)"},
		{false, 36, 120, 4, 0, "(36 s late, 4 rows open, done about 15:23 UTC)"},
		{false, -300, 40, 4, 0, "(40 s late by the forecast)"},
		{false, -300, -60, 4, 0, "(1 min early by the forecast)"},
		{false, -300, 0, 4, 0, "(when it is done is not known yet)"},
	} {
		at := func(s int) time.Time { return deadline.Add(time.Duration(s) * time.Second) }
		r := &runReport{Zone: "UTC", Ended: c.ended, To: at(c.to), Open: c.open, Missed: c.missed}
		r.Run.Spec.Steer.Deadline = deadline
		if c.eta != 0 {
			r.ETA = at(c.eta)
		}
		if got := r.facts(); got[len(got)-1] != [2]string{"deadline", "15:21 UTC " + c.want} {
			t.Errorf("%+v: %q", c, got[len(got)-1])
		}
	}
}

// TestShownEvents: of many the weightiest stay, in the order of time; the rest is counted.
func TestShownEvents(t *testing.T) {
	r := sampleReport()
	r.Events = nil
	for i := range 40 {
		r.addEvent(limiter.Event{At: r.From.Add(time.Duration(2*i) * time.Minute), Kind: limiter.EventCooldown, Text: "cool " + string(rune('a'+i%26))})
		r.addEvent(limiter.Event{At: r.From.Add(time.Duration(2*i+1) * time.Minute), Kind: limiter.EventThrottle, Subject: fmt.Sprint(i % 2), Text: fmt.Sprintf("share %d %%", i)})
	}
	r.addEvent(limiter.Event{At: r.From.Add(90 * time.Minute), Kind: limiter.EventThrottle, Subject: "1", Text: "share 99 %"})
	shown, left := r.shownEvents()
	if len(shown) != mostEvents || left != 80-mostEvents || slices.ContainsFunc(shown, func(e reportEvent) bool { return e.Kind == limiter.EventCooldown }) ||
		!slices.IsSortedFunc(shown, func(a, b reportEvent) int { return a.At.Compare(b.At) }) || r.Events[len(r.Events)-1].Times != 2 {
		t.Errorf("%d shown, %d left, the last %+v", len(shown), left, r.Events[len(r.Events)-1])
	}
}

// TestReportName: a name that promises another kind of file is refused.
func TestReportName(t *testing.T) {
	for file, want := range map[string]string{"rep.html": "html", "rep.MD": "markdown", "rep.txt": "terminal", "": "terminal", "-": "terminal", "rep.pdf": "", "rep.docx": ""} {
		o := &reportOptions{File: file}
		if err := o.check(); (err != nil) != (want == "") || err == nil && o.Format != want {
			t.Errorf("-o %s: %v, written as %q, want %q", file, err, o.Format, want)
		}
	}
}

// TestReportOtherRuns: what happened to other runs is not this one's night.
func TestReportOtherRuns(t *testing.T) {
	r := sampleReport()
	others := map[string]string{"mother": "mother"}
	for text, want := range map[string]bool{"weights: run/mother 3": true, "weights: run/" + r.Run.ID + " 3": false, "run/mother and run/" + r.Run.ID: false, "rpm 10": false} {
		if got := r.ofAnother(limiter.Event{Kind: limiter.EventLimits, Text: text}, others); got != want {
			t.Errorf("%q is of another run: %v", text, got)
		}
	}
	if !r.ofAnother(limiter.Event{Kind: limiter.EventLimits, Subject: "run/mother"}, others) || r.ofAnother(limiter.Event{Kind: scheduler.EventRun, Subject: r.Run.ID}, others) {
		t.Error("by its subject")
	}
}

// TestReportOfOthers: what is of a tenant, key, feature, class, model or run that the
// run's calls are not counted for is not told of it.
func TestReportOfOthers(t *testing.T) {
	r := sampleReport()
	r.Run.Spec.Lane, r.Run.Spec.Class, r.Run.Spec.Tenant = "gemini/p/global/gemini-3.5-flash", "bulk", "acme"
	for subject, want := range map[string]bool{
		"tenant/globex": true, "tenant/acme": false, "tenant/*": false, "tenant/globex usd_per_day": true, "tenant/acme usd_per_day": false, "key/k_1": true, "feature/chat": true,
		"feature/catalog": false, "run/mx111111abcd": true, "mx111111abcd": true, "mx111111abcd operator": true, r.Run.ID: false, "bulk": false, "agent": true, "class agent": false,
		"interactive of gemini-3.5-flash": false, "gemini/p/global/other": true, "gemini/p/global/gemini-3.5-flash": false, "provider": false, "project/default": false,
		"bulk-high.p.gemini-3.5-flash": false, "bulk-high.p.other": true, "interactive": true,
	} {
		if got := r.ofOthers(limiter.Event{Kind: limiter.EventPause, Subject: subject}); got != want {
			t.Errorf("%s is of others: %v", subject, got)
		}
	}
	for text, want := range map[string]bool{"weights: tenant/globex 1 → 3": true, "weights: tenant/globex 1 → 3, tenant/acme 2": false, "weights: none": false} {
		if got := r.ofOthers(limiter.Event{Kind: limiter.EventLimits, Subject: "weights", Text: text}); got != want {
			t.Errorf("%s is of others: %v", text, got)
		}
	}
}

// TestWindowNeverOpens: a timetable under which no row could ever go is refused.
func TestWindowNeverOpens(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"else @0%": false, "22:00-23:00@0%, else @0%": false, "22:00-23:00@100%, else @0%": true, "else @10%": true} {
		s := jobs.Spec{Steer: jobs.Steering{Zone: "UTC"}}
		if err := readWindow(&loaded{}, &s, text, at(9, 0)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
