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
