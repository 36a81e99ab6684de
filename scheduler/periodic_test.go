package scheduler

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
)

// TestPeriods is what becomes of periods, one look after the other.
func TestPeriods(t *testing.T) {
	cron, err := ParseCron("30 1 * * *", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Schedule{Name: "n", Cron: cron}
	at := func(text string) time.Time { x, _ := time.Parse("01-02 15:04", text); return x.AddDate(2026, 0, 0) }
	var st ScheduleState
	for _, c := range []struct {
		at, former, outcome, run string
		told, missed             int
		before                   func()
	}{
		{"12-01 12:00", "", "", "", 0, 0, nil},
		{"12-02 01:29", "", "", "", 0, 0, nil},
		{"12-02 01:30", "", PeriodStarting, "n@2026-12-02", 0, 0, nil},
		{"12-02 01:31", "", PeriodStarting, "n@2026-12-02", 0, 0, nil}, // a leader that takes over finishes it
		{"12-02 01:32", "", PeriodStarted, "n@2026-12-02", 0, 0, func() { st.Outcome = PeriodStarted }},
		{"12-03 01:30", "n@2026-12-02", PeriodSkipped, "n@2026-12-03", 1, 0, nil},
		{"12-06 08:00", "", PeriodStarting, "n@2026-12-06", 0, 3, nil}, // once, however many were missed
		{"12-09 08:00", "", PeriodSkipped, "n@2026-12-09", 1, 3, func() { st.Outcome, s.Skip = PeriodStarted, true }},
		{"12-10 01:30", "", PeriodSkipped, "n@2026-12-10", 0, 0, func() { st.Held = "ann" }},
		{"12-11 01:30", "", PeriodSkipped, "n@2026-12-11", 2, 0, func() { st.Held, st.SkipOne, st.SkipBy = "", true, "ann" }},
		{"12-12 01:30", "", PeriodStarting, "n@2026-12-12", 0, 0, nil},
		{"12-12 09:00", "", PeriodStarting, "n@2026-12-12T09:00:00", 0, 0, func() { st.Outcome, st.Now = PeriodStarted, "ann" }},
		{"12-14 09:00", "", PeriodStarting, "n@2026-12-14T09:00:00", 0, 2, func() { st.Outcome, st.Now = PeriodStarted, "ann" }},
		// Held while schedulers look each period, and while none does: said once, after it.
		{"12-15 01:30", "", PeriodSkipped, "n@2026-12-15", 0, 0, func() { st.Outcome, st.Held = PeriodStarted, "ann" }},
		{"12-18 09:00", "", PeriodSkipped, "n@2026-12-18", 0, 0, nil},
		{"12-18 09:01", "", PeriodSkipped, "n@2026-12-18", 1, 0, func() { st.Held = "" }},
		{"12-18 09:02", "", PeriodSkipped, "n@2026-12-18", 0, 0, nil},
		{"12-19 01:30", "", PeriodStarting, "n@2026-12-19", 0, 0, nil},
	} {
		if c.before != nil {
			c.before()
		}
		if told, missed := st.decide(s, at(c.at), c.former); len(told) != c.told || missed != c.missed || st.Outcome != c.outcome || st.Run != c.run {
			t.Errorf("%s: %s %s, told %q, %d missed; want %s %s", c.at, st.Outcome, st.Run, told, missed, c.outcome, c.run)
		}
	}
}

// TestOneRunAPeriod: two schedulers at once make one run, a leader that dies while it
// makes it leaves it to the next, and a broken input is an alert.
func TestOneRunAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := newRig(t, embedded(ctx, t)())
		cron, err := ParseCron("* * * * *", nil)
		r.must(err)
		var mu sync.Mutex
		started := map[string]int{}
		fail := errors.New("killed")
		p := &Periodic{Control: r.c, Owner: "s", Of: []Schedule{{Name: "n", Cron: cron, Start: func(_ context.Context, run string) (jobs.EnqueueReport, error) {
			mu.Lock()
			defer mu.Unlock()
			started[run]++
			return jobs.EnqueueReport{}, fail
		}}}}
		r.must(p.Look(r.ctx()))
		<-time.After(time.Minute)
		if err := p.Look(r.ctx()); !errors.Is(err, fail) {
			t.Errorf("the first leader: %v", err)
		}
		fail = nil
		r.must(p.Look(r.ctx()))
		if len(started) != 1 {
			t.Errorf("started %v", started)
		}
		<-time.After(time.Minute)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = p.Look(r.ctx()) })
		}
		both.Wait()
		if len(started) != 2 {
			t.Errorf("started %v", started)
		}
		fail = &StartError{errors.New("rows.csv:3: no id")}
		<-time.After(time.Minute)
		r.must(p.Look(r.ctx()))
		all, err := r.c.Schedules(r.ctx())
		r.must(err)
		if st := all["n"]; st.Outcome != PeriodFailed || len(r.events("alert")) != 1 {
			t.Errorf("%+v, alerts %q", st, r.events("alert"))
		}
	})
}

// TestTwoLeadersOneRun: two processes that both believe to lead look at the very moment
// of a period, on one Redis, and both have read what was kept before either writes. One
// run comes of it, each time, and each of its rows has one task: the second may finish
// what the first began, by the same name.
func TestTwoLeadersOneRun(t *testing.T) {
	r := newRig(t, realRedis(t))
	cron, err := ParseCron("* * * * *", nil)
	r.must(err)
	path := filepath.Join(t.TempDir(), "rows.csv")
	r.must(os.WriteFile(path, []byte("id,word\na,x\nb,y\nc,z\n"), 0o600))
	at := time.Date(2026, 12, 1, 1, 29, 30, 0, time.UTC)
	var mu sync.Mutex
	started := map[string]int{}
	leader := func() *Periodic {
		c := *r.c
		c.Now = func() time.Time { return at }
		return &Periodic{Control: &c, Owner: "s", Of: []Schedule{{Name: "n", Cron: cron, Start: func(ctx context.Context, run string) (jobs.EnqueueReport, error) {
			mu.Lock()
			started[run]++
			mu.Unlock()
			spec := jobs.Spec{Kind: jobs.Generate, Model: "m", Lane: testLane, Template: "{{.word}}", Feature: "test", Class: "bulk", Priority: jobs.Normal, IDColumn: "id", Name: run}
			p, err := jobs.Prepare(ctx, jobs.Input{Path: path}, spec, jobs.PrepareOptions{})
			if err != nil {
				return jobs.EnqueueReport{}, err
			}
			defer p.Close()
			return r.store.Enqueue(ctx, p, jobs.EnqueueOptions{})
		}}}}
	}
	leaders := []*Periodic{leader(), leader()}
	for _, p := range leaders {
		r.must(p.Look(r.ctx()))
	}
	const periods = 20
	for range periods {
		at = at.Add(time.Minute)
		var both, ready sync.WaitGroup
		ready.Add(len(leaders))
		for _, p := range leaders {
			both.Go(func() {
				c := *p.Control
				seen := false
				c.Now = func() time.Time {
					if !seen { // the barrier: both are at the moment before either decides
						seen = true
						ready.Done()
						ready.Wait()
					}
					return at
				}
				one := Periodic{Control: &c, Of: p.Of, Owner: p.Owner}
				r.must(one.Look(r.ctx()))
			})
		}
		both.Wait()
		tasks, err := r.rdb.LRange(r.ctx(), "asynq:{"+testQueue+"}:pending", 0, -1).Result()
		r.must(err)
		if slices.Sort(tasks); len(tasks) != 3 || len(slices.Compact(tasks)) != 3 {
			t.Fatalf("a period of 3 rows has %d tasks: %v", len(tasks), tasks)
		}
		runs, err := r.store.Runs(r.ctx())
		r.must(err)
		_, err = r.store.Cancel(r.ctx(), runs[0].ID) // or the next period is skipped
		r.must(err)
	}
	if len(started) != periods {
		t.Errorf("%d periods made %d runs: %v", periods, len(started), started)
	}
	runs, err := r.store.Runs(r.ctx())
	r.must(err)
	if len(runs) != periods {
		t.Errorf("%d periods have %d runs", periods, len(runs))
	}
	for _, run := range runs {
		if c, err := r.store.Counts(r.ctx(), run.ID); err != nil || c.Total() != 3 || run.Rows != 3 {
			t.Errorf("%s has %v, %d rows (%v)", run.Title(), c, run.Rows, err)
		}
	}
}
