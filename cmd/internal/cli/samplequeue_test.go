package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// TestSampleOfPausedQueue: a sample is held by the pause of the queue that its rows
// would be in, before it begins and while calls are out, and by no other queue's.
func TestSampleOfPausedQueue(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	run, now := s.run, time.Now()
	run.Spec.Sample, run.Spec.Priority = true, jobs.High
	counts, err := s.be.store.Counts(t.Context(), run.ID)
	s.check(err)
	se := &session{backend: s.be, sampleOf: jobs.Normal}
	pause := func(p jobs.Priority) {
		s.check(s.be.lim.Pause(t.Context(), limiter.Pause{Lane: run.Spec.Lane, Priority: limiter.Priority(p), Reason: "operator", Owner: "ada"}))
	}
	pause(jobs.Low)
	s.check(se.heldSample(t.Context(), &sampleHold{}, run, counts, worker.WorkerInfo{}, worker.Stats{InFlight: 1}, now))
	s.check(se.queueHold(t.Context(), run, now))
	pause(jobs.Normal)
	for _, err := range []error{
		se.tryOpen(t.Context(), s.f, run, "rows.csv", nil),
		se.heldSample(t.Context(), &sampleHold{}, run, counts, worker.WorkerInfo{}, worker.Stats{InFlight: 1}, now),
	} {
		var coded *codedError
		if !errors.As(err, &coded) || coded.code != exitStopped || !strings.Contains(err.Error(), "ada") {
			t.Errorf("a paused queue: %v", err)
		}
	}
}
