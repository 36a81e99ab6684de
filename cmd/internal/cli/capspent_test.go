package cli

import (
	"fmt"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestRunCostsWhatItsResultsSay: a run has cost no less than its results say, also where
// a worker died before it had counted; a retry adds to it.
func TestRunCostsWhatItsResultsSay(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	for row, cost := range []int64{3_000_000_000, 2_000_000_000} { // beyond 32 bits together
		task := jobs.Task{Run: s.run.ID, Index: int64(row)}
		_, err := s.be.store.Begin(t.Context(), task)
		s.check(err)
		_, err = s.be.store.Finish(t.Context(), task, jobs.Result{Status: "failed", MicroUSD: &cost})
		s.check(err)
	}
	st := runStatus{}
	s.check(s.be.readEnded(t.Context(), s.run, &st, time.Now()))
	r, err := s.be.report(t.Context(), s.run, time.Now())
	if s.check(err); st.Cost != 5_000_000_000 || r.Cost.MicroUSD != st.Cost {
		t.Errorf("status has %d, report %d micro-dollars, want 5,000,000,000", st.Cost, r.Cost.MicroUSD)
	}
}

// TestCapEnds: what rows have cost so far tells how many more fit a run's cap.
func TestCapEnds(t *testing.T) {
	t.Parallel()
	run := jobs.Run{ID: "r1", Spec: jobs.Spec{Name: "night", Steer: jobs.Steering{MaxCost: 1_000_000}}}
	if got, want := capEnds(run, 100, 900, 500_000), "its --max-cost stops it after about 100 of 900 open rows: nightshift set night --max-cost 6 lets all go"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := capEnds(run, 100, 900, 50_000); got != "" { // 1,000 rows for $0.50
		t.Errorf("a cap that is enough: %q", got)
	}
	if got := capEnds(run, 2, 900, 500_000); got != "" {
		t.Errorf("by two rows: %q", got)
	}
}

// TestRowsWithoutACallCostNothing: a row that failed before its call does not make those
// to come look cheaper, for status and for what a cap should be.
func TestRowsWithoutACallCostNothing(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	cost := int64(100_000)
	finish := func(row int64, r jobs.Result) {
		task := jobs.Task{Run: s.run.ID, Index: row}
		_, err := s.be.store.Begin(t.Context(), task)
		s.check(err)
		_, err = s.be.store.Finish(t.Context(), task, r)
		s.check(err)
	}
	for row := range int64(6) {
		finish(row, jobs.Result{Row: fmt.Sprintf("r%d", row), Status: "failed", Error: &jobs.RowError{Cause: "template"}})
	}
	finish(6, jobs.Result{Row: "r6", Status: "done", Key: "k", Attempts: 1, MicroUSD: &cost})
	finish(7, jobs.Result{Row: "r7", Status: "expired"})
	st := runStatus{}
	st.counts, _ = s.be.store.Counts(t.Context(), s.run.ID)
	if s.check(s.be.readEnded(t.Context(), s.run, &st, time.Now())); st.called != 1 || st.Cost != cost {
		t.Errorf("%d rows were called for %d micro-dollars, want 1 for %d", st.called, st.Cost, cost)
	}
}
