package cli

import (
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestSpendShowOfRuns: spend show has what a killed worker did not count, as status has
// it, and calls runs by their names.
func TestSpendShowOfRuns(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	now, counted, cost := time.Now(), int64(2_000_000), int64(3_000_000)
	meter := gemini.NewMeter(s.be.rdb, s.be.conf.scope(), gemini.MeterOptions{})
	meter.Put(gemini.Record{Time: now, Method: "generateContent", Lane: s.run.Spec.Lane, Class: "bulk", Feature: "test", Run: s.run.ID, Sent: true,
		Used: limiter.Amounts{limiter.Requests: 1}, MicroUSD: &counted})
	meter.Put(gemini.Record{Time: now, Method: "generateContent", Lane: s.run.Spec.Lane, Class: "interactive", Feature: "chat", Sent: true,
		Used: limiter.Amounts{limiter.Requests: 1}, MicroUSD: &counted})
	s.check(meter.Close())
	for row := range int64(2) {
		task := jobs.Task{Run: s.run.ID, Index: row}
		_, err := s.be.store.Begin(t.Context(), task)
		s.check(err)
		_, err = s.be.store.Finish(t.Context(), task, jobs.Result{Row: "r", Status: "failed", MicroUSD: &cost})
		s.check(err)
	}
	_, err := s.be.store.Steer(t.Context(), s.run.ID, func(x *jobs.Steering) error { x.MaxCost = 9_000_000; return nil })
	s.check(err)
	s.run, err = s.be.store.Load(t.Context(), s.run.ID)
	s.check(err)
	s.check(s.be.steered(t.Context(), s.run))
	// A run that is made in the last moment of a month is of the month in which it is asked for.
	since := s.run.Created.In(s.be.conf.spendZone()).Format(time.DateOnly)
	for by, want := range map[string]string{"run": s.run.ID, "feature": "test"} {
		v, err := s.be.spending(t.Context(), by, since, now)
		s.check(err)
		if v.MicroUSD != 8_000_000 || v.Calls != 2 || len(v.Spenders) != 2 || v.Spenders[0].Name != want || v.Spenders[0].MicroUSD != 6_000_000 {
			t.Errorf("by %s: %d in %d calls, %+v", by, v.MicroUSD, v.Calls, v.Spenders)
		}
		v.print(s.f)
		if out := s.out.String(); strings.Contains(out, s.run.ID) || !strings.Contains(out, "run night") {
			t.Errorf("by %s:\n%s", by, out)
		}
	}
}
