package cli

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/scheduler"
)

// TestReportOfRun: a report is gathered from what is in Redis: rows, causes, money by
// run, use by class, and what happened to this run and to all, not to others.
func TestReportOfRun(t *testing.T) {
	s := newSteered(t)
	_, err := s.be.store.Begin(t.Context(), jobs.Task{Run: s.run.ID}) // by a worker that dies
	s.check(err)
	for row := range int64(7) {
		s.end(row, jobs.Done, "")
	}
	s.end(7, jobs.Failed, "schema")
	s.end(8, jobs.Blocked, "safety")
	s.end(9, jobs.Failed, "schema")
	meter := gemini.NewMeter(s.be.rdb, s.be.conf.scope(), gemini.MeterOptions{})
	call := func(run, class string, money int64) gemini.Record {
		lane := s.run.Spec.Lane
		return gemini.Record{Time: time.Now(), Method: "generateContent", Lane: lane, Class: class, Feature: "test", Run: run, Sent: true, TookMS: 900,
			Used: limiter.Amounts{limiter.Requests: 1, limiter.InputTokens: 100, limiter.OutputTokens: 10}, MicroUSD: &money}
	}
	for range 10 {
		meter.Put(call(s.run.ID, "bulk", 1000))
	}
	meter.Put(call("another", "bulk", 7))
	meter.Put(call("", "interactive", 7))
	s.check(meter.Close())
	control := s.be.control()
	s.check(control.TellRun(t.Context(), scheduler.RunEvent{Run: s.run.ID, Kind: scheduler.RunFinished}))
	s.check(s.be.lim.Note(t.Context(), limiter.Event{Kind: limiter.EventAlert, Subject: "gemini/default/global/other", Text: "another model"}))

	r, err := s.be.report(t.Context(), s.run, time.Now())
	s.check(err)
	if !r.Ended || r.Good != 7 || r.Bad != 3 || len(r.Unknown) != 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Failed) != 2 || r.Failed[0].Cause != "schema" || r.Failed[0].Rows != 2 {
		t.Errorf("failed %+v", r.Failed)
	}
	if want := (reportCost{Known: true, Calls: 10, Unseen: 1, Input: 1000, Output: 100, MicroUSD: 10_000, Tiers: []reportTier{{"standard", 10, 10_000}}}); !reflect.DeepEqual(r.Cost, want) {
		t.Errorf("cost %+v, want %+v", r.Cost, want)
	}
	if len(r.Quota) != 1 || r.Quota[0].Limit != "rpm" {
		t.Fatalf("quota %+v", r.Quota)
	}
	var bulk, people float64
	for _, p := range r.Quota[0].Points {
		bulk, people = bulk+60*p.Bulk, people+60*p.People
	}
	if math.Abs(bulk-11) > 1e-6 || math.Abs(people-1) > 1e-6 {
		t.Errorf("%v requests of bulk and %v of people in the chart, want 11 and 1", bulk, people)
	}
	if len(r.People) != 1 || r.People[0].Class != "interactive" || r.People[0].Calls != 1 || r.People[0].P95MS < 800 {
		t.Errorf("people %+v", r.People)
	}
	if !slices.ContainsFunc(r.Events, func(e reportEvent) bool { return strings.Contains(e.Text, "run night has ended") }) ||
		slices.ContainsFunc(r.Events, func(e reportEvent) bool { return e.Text == "another model" }) {
		t.Errorf("events %+v", r.Events)
	}
	if len(r.Do) != 2 || r.Do[0].Command != "nightshift retry night --only schema" || r.Do[1].Command != "nightshift retry night --only safety" {
		t.Errorf("to do %+v", r.Do)
	}
}

// TestReportOpenRun: of a run that nobody works at the first thing is to start a worker,
// and of one that its brake has stopped to resume it.
func TestReportOpenRun(t *testing.T) {
	s := newSteered(t)
	r, err := s.be.report(t.Context(), s.run, time.Now())
	s.check(err)
	if r.Ended || r.Open != 10 || len(r.Do) != 1 || r.Do[0].Command != "nightshift worker" {
		t.Errorf("%+v", r)
	}
	s.check(s.be.lim.Pause(t.Context(), limiter.Pause{Run: s.run.ID, Reason: scheduler.ReasonBrake, Owner: "nightshift", Detail: "50 of 50"}))
	r, err = s.be.report(t.Context(), s.run, time.Now())
	s.check(err)
	if len(r.Do) != 1 || r.Do[0].Command != "nightshift resume night" {
		t.Errorf("to do %+v", r.Do)
	}
}
