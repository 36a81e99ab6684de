package cli

import (
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
	counts := jobs.Counts{jobs.Done: 100, jobs.Queued: 900}
	if got, want := capEnds(run, counts, 500_000), "its --max-cost stops it after about 100 of 900 open rows: nightshift set night --max-cost 6 lets all go"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := capEnds(run, counts, 50_000); got != "" { // 1,000 rows for $0.50
		t.Errorf("a cap that is enough: %q", got)
	}
	if got := capEnds(run, jobs.Counts{jobs.Done: 2, jobs.Queued: 900}, 500_000); got != "" {
		t.Errorf("by two rows: %q", got)
	}
}
