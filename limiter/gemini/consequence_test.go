package gemini

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
)

var (
	allKinds  = []Kind{Wait, Backoff, DailyReset, BudgetStop, Permanent, Unknown}
	allScopes = []Scope{ScopeJob, ScopeTool, ScopeModel, ScopeProject, ScopeBilling, ScopeWorker}
)

// cell is a consequence in the words of the table below.
func (c Consequence) cell() string {
	words := []string{string(c.Job.Action)}
	if c.Lane.Rest > 0 {
		words = append(words, "rest")
	}
	if c.Lane.Lower != "" {
		words = append(words, "lower")
	}
	if c.Lane.Breaker != "" {
		how := "unsure"
		if c.Lane.Certain {
			how = "sure"
		}
		who := "lane"
		if c.Project.Breaker {
			who = "project"
		}
		words = append(words, how+" "+who+" "+string(c.Lane.Breaker))
	}
	if c.Project.Alert {
		words = append(words, "alert")
	}
	return strings.Join(words, ", ")
}

// TestConsequences is the table of what follows, by kind and scope.
func TestConsequences(t *testing.T) {
	spend, down := "waits, sure project spend, alert", "waits, sure project breaker, alert"
	want := map[Kind][6]string{ // job, tool, model, project, billing account, worker
		Wait:       {"waits", "waits", "waits, rest, lower", spend, spend, "waits"},
		Backoff:    {"retries", "retries", "retries", "retries", "retries", "waits"},
		DailyReset: {"waits", "waits", "waits, lower, sure lane breaker", "waits, lower, sure project breaker", "waits, lower, sure project breaker", "waits"},
		BudgetStop: {"waits", "waits", "waits, sure lane spend", spend, spend, "waits"},
		Permanent:  {"fails", "fails", "waits, sure lane breaker", down, down, "waits"},
		Unknown:    {"retries", "retries", "waits, unsure lane breaker", "waits, unsure project breaker", "waits, unsure project breaker", "waits"},
	}
	for _, k := range allKinds {
		for i, s := range allScopes {
			v := Verdict{Kind: k, Scope: s, Reason: "r", RetryAfter: time.Minute}
			got := ConsequenceOf(v, Ledger{Now: noon})
			t.Logf("%-12s %-16s %-45s %s", k, s, got.cell(), got.Lift)
			if got.cell() != want[k][i] {
				t.Errorf("%s of scope %s: %q, want %q", k, s, got.cell(), want[k][i])
			}
			sane(t, fmt.Sprint(k, s), v, got)
		}
	}
	key := ConsequenceOf(Verdict{Kind: Permanent, Scope: ScopeProject, Credential: true}, Ledger{Now: noon})
	if got := key.cell(); got != "waits, sure project credentials, alert" || key.Project.Pause != "credentials" {
		t.Errorf("a refused key: %q %+v", got, key.Project)
	}
	short := ConsequenceOf(Verdict{Kind: Backoff, Scope: ScopeModel, Reason: reasonCapacity}, Ledger{Now: noon})
	if got := short.cell(); got != "waits, rest, lower" || short.Lane.Lower != limiter.Capacity {
		t.Errorf("a 429 for want of capacity: %q %+v", got, short.Lane)
	}
}

// sane holds for every consequence.
func sane(t *testing.T, name string, v Verdict, c Consequence) {
	t.Helper()
	switch {
	case c.Lift == "":
		t.Errorf("%s: nobody may lift it", name)
	case (c.Job.Action == JobWaits) != (c.Job.Wait > 0):
		t.Errorf("%s: %s for %s", name, c.Job.Action, c.Job.Wait)
	case c.Job.Action == JobFails && (v.Kind != Permanent || !v.Scope.own()):
		t.Errorf("%s: what is not the job's own fault ends it", name)
	case v.Scope.own() && (c.Lane.Breaker != "" || c.Lane.Rest > 0 || c.Project != ProjectPart{}):
		t.Errorf("%s: what concerns one job alone closes a lane: %+v", name, c)
	case c.Lane.Breaker != "" && c.Lane.Rest > 0:
		t.Errorf("%s: rests and breaks: %+v", name, c.Lane)
	case c.Project.Breaker && !v.Scope.all():
		t.Errorf("%s: closes more than its scope", name)
	case !c.Until.IsZero() && !c.Until.After(noon):
		t.Errorf("%s: over at %s already", name, c.Until)
	}
}

// TestConsequencesOfCorpus: what follows from each answer that was seen in the wild.
func TestConsequencesOfCorpus(t *testing.T) {
	all := samples(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := Classify(all[name].answer(), noon)
		if v.Kind == "" {
			continue
		}
		c := ConsequenceOf(v, Ledger{Now: noon})
		sane(t, name, v, c)
		until := ""
		if !c.Until.IsZero() {
			until = "until " + c.Until.UTC().Format("01-02 15:04:05")
		}
		t.Logf("%-70s %-11s %-15s %-45s %s", name, v.Kind, v.Scope, c.cell(), until)
	}
}

// TestLedgerFirst: when our own ledger says that the day or the budget is spent, a
// refusal that names no quota is that, whatever its hint; one that names its quota, or
// is about something else, is what it says.
func TestLedgerFirst(t *testing.T) {
	month, midnight := NextPacificMonth(noon), NextPacificMidnight(noon)
	state := func(used int64) limiter.LaneState {
		return limiter.LaneState{Limits: []limiter.LimitState{
			{Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Minute}, Name: "rpm", Used: 10, Effective: 10, NextFree: noon.Add(time.Second)},
			{Limit: limiter.Limit{Unit: limiter.Requests, Window: limiter.Day}, Name: "rpd", Used: used, Effective: 95, NextFree: midnight},
			{Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Month}, Name: "usd_per_month", Used: used - 5, Effective: 95, NextFree: month},
		}}
	}
	vague := []Verdict{
		{Kind: Wait, Scope: ScopeModel, Reason: reasonHinted, RetryAfter: 26 * time.Second},
		{Kind: Unknown, Scope: ScopeModel, Reason: reasonUnexplained},
		{Kind: Backoff, Scope: ScopeModel, Reason: reasonCapacity},
	}
	clear := []Verdict{
		{Kind: Wait, Scope: ScopeModel, Reason: "rpm", Limit: 10, RetryAfter: 26 * time.Second},
		{Kind: Wait, Scope: ScopeModel, Reason: reasonHinted, Bucket: "gemini-x"},
		{Kind: Permanent, Scope: ScopeJob, Reason: "invalid_argument"},
		{Kind: Backoff, Scope: ScopeModel, Reason: "overloaded"},
	}
	for _, c := range []struct {
		used  int64
		kind  Kind
		until time.Time
		why   string
	}{{94, "", time.Time{}, ""}, {95, DailyReset, midnight, "rpd"}, {100, BudgetStop, month, "usd_per_month"}} {
		l := usedUp(Ledger{Now: noon}, state(c.used))
		for _, v := range vague {
			got := l.Correct(v)
			if c.kind == "" && got.Kind != v.Kind {
				t.Errorf("nothing is used up, and %+v became %+v", v, got)
			}
			if c.kind != "" && (got.Kind != c.kind || !got.RetryAt.Equal(c.until) || !strings.Contains(strings.Join(got.Evidence, ";"), c.why)) {
				t.Errorf("%d used: %+v became %+v", c.used, v, got)
			}
			if next := ConsequenceOf(v, l); c.kind != "" && (!next.Lane.Certain || !next.Until.Equal(c.until)) {
				t.Errorf("%d used: %+v", c.used, next)
			}
		}
		for _, v := range clear {
			if got := l.Correct(v); got.Kind != v.Kind || got.Reason != v.Reason {
				t.Errorf("%+v became %+v", v, got)
			}
		}
	}
}
