package cli

import (
	"testing"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

// TestTriedBefore: a run that has only begun says nothing of its own rows, since the
// first to come are no fair part; of others the one with the most results counts.
func TestTriedBefore(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	ctx := t.Context()
	for i := range 6 {
		task := jobs.Task{Run: s.run.ID, Index: int64(i)}
		_, err := s.be.store.Begin(ctx, task)
		s.check(err)
		_, err = s.be.store.Finish(ctx, task, jobs.Result{Row: "r", Run: s.run.ID, Index: int64(i), Status: jobs.Done.String(),
			Usage: &jobs.Usage{Prompt: 10, Output: 5, Total: 15}})
		s.check(err)
	}
	// Keys of rows that this input does not have.
	b := &batch{Prepared: &jobs.Prepared{Spec: s.run.Spec, Digest: s.run.Digest}}
	for but, want := range map[string]int{"": 6, s.run.ID: 0} {
		if e, err := s.be.triedBefore(ctx, b, but); err != nil || len(e.tried) != want || e.foreign != (want > 0) {
			t.Errorf("but %q: %d rows say something, want %d (%v)", but, len(e.tried), want, err)
		}
	}
}

// TestEvidenceOfThisInput: rows of this very input say more than many of another one;
// of the same kind the more the better.
func TestEvidenceOfThisInput(t *testing.T) {
	t.Parallel()
	own := evidence{source: jobs.PlannedSample, tried: make([]gemini.Usage, 60)}
	other := evidence{source: jobs.PlannedFormer, tried: make([]gemini.Usage, 150), foreign: true}
	more := evidence{source: jobs.PlannedFormer, tried: make([]gemini.Usage, 61)}
	for _, tc := range []struct {
		e, than evidence
		want    bool
	}{{own, evidence{}, true}, {own, other, true}, {other, own, false}, {more, own, true}, {own, more, false}} {
		if got := tc.e.saysMore(tc.than); got != tc.want {
			t.Errorf("%d rows (of another input: %v) over %d (%v): %v", len(tc.e.tried), tc.e.foreign, len(tc.than.tried), tc.than.foreign, got)
		}
	}
}
