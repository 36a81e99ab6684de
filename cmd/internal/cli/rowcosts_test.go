package cli

import (
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestEndUnderADaysCap: rows that wait book the longest answer that is allowed. How long
// the day's money lasts is told by what rows cost.
func TestEndUnderADaysCap(t *testing.T) {
	t.Parallel()
	const rows, longest = 2762, 590_000 // micro-dollars
	lane := nightLane()
	lane.Limits = append(lane.Limits, limiter.LimitState{
		Limit: limiter.Limit{Unit: limiter.MicroUSD, Window: limiter.Day, Amount: 500_000_000}, Name: "usd_per_day", Effective: 500_000_000,
		Classes: []limiter.ClassUse{{Class: "bulk", Used: 59_200}},
	})
	lane.Leaves[0].Booked[limiter.MicroUSD] = 100 * longest
	run := openRun("a", jobs.Normal, rows)
	guess := jobs.Span{Low: rows * 100, Mid: rows * 300, High: rows * longest}
	planned := run
	planned.Planned = &jobs.Planned{Rows: rows, Cost: &guess, Source: jobs.PlannedLearned}
	capped := run
	capped.Planned = &jobs.Planned{Rows: rows, Cost: &guess, Source: jobs.PlannedCap}
	dear := run
	guessDear := jobs.Span{Mid: rows * 500_000}
	dear.Planned = &jobs.Planned{Rows: rows, Cost: &guessDear, Source: jobs.PlannedSample}
	now := at(2, 0) // six hours before midnight in California at the least
	samples := func(good, micro int64) []gemini.UsageSample {
		return []gemini.UsageSample{{At: now.Add(-10 * time.Minute), Model: "m", Class: "bulk", Feature: "tags", Good: good, MicroUSD: micro}}
	}
	for _, c := range []struct {
		name    string
		run     runStatus
		samples []gemini.UsageSample
		days    bool // it takes more than one
	}{
		{"rows have cost little", run, samples(238, 59_200), false},
		{"rows have cost nearly what they book", run, samples(238, 238*500_000), true},
		{"few have, much was expected", dear, samples(5, 500), true},
		{"few have, little was expected", planned, samples(5, 5*longest), false},
		{"nobody knows", capped, nil, false},
		{"nothing was expected", run, nil, false},
	} {
		o := &overview{At: now, Runs: []runStatus{c.run}, samples: c.samples}
		end, known := o.outlook(lane).of("a", rows)
		if took := end.Sub(now); !known || (took > 12*time.Hour) != c.days {
			t.Errorf("%s: done after %v (known: %v), want days: %v", c.name, took, known, c.days)
		}
	}
}
