package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

const (
	// sampleWaits is for how long somebody at the keyboard is let wait for what is
	// sure to end.
	sampleWaits = 10 * time.Minute
	// sampleStill is how long nothing of a sample ends until a long wait for quota
	// counts: rows are pulled long before the time that they are told.
	sampleStill = time.Minute
)

// heldError ends a sample that would keep somebody waiting.
type heldError struct{ why string }

func (e *heldError) Error() string {
	return e.why + ".\n  The rows that are left were not called for; the same command goes on with them later"
}

// sampleHold looks now and then for what keeps a sample from going on.
type sampleHold struct {
	done  int64
	since time.Time // when a row ended last
	next  time.Time // when it is looked
}

// due tells that it is time to look.
func (x *sampleHold) due(done int64, now time.Time) bool {
	if x.since.IsZero() || done != x.done {
		x.done, x.since = done, now
	}
	if now.Before(x.next) {
		return false
	}
	x.next = now.Add(time.Second)
	return true
}

// heldSample is the error for a sample that does not go on for long; nil for other
// runs, and while it goes on or will soon.
func (s *session) heldSample(ctx context.Context, x *sampleHold, run jobs.Run, c jobs.Counts, own worker.WorkerInfo, st worker.Stats, now time.Time) error {
	if !run.Spec.Sample || !x.due(c.Total()-c.Open(), now) {
		return nil
	}
	if err := s.queueHold(ctx, run, now); err != nil || st.InFlight > 0 {
		return ignoreEnd(ctx, err)
	}
	pauses, err := s.lim.Pauses(ctx)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	h, err := s.runHold(ctx, run, pauses, []worker.WorkerInfo{own}, now)
	if err != nil {
		return ignoreEnd(ctx, err)
	}
	why := longHold(h, now)
	if why == "" && now.Sub(x.since) >= sampleStill {
		why = longWait(st, now)
	}
	if why == "" {
		return nil
	}
	return &codedError{exitStopped, &heldError{why}}
}

// queueHold is the error for a sample whose rows would wait in a paused queue, were
// they enqueued: who paused that queue wants no calls of it, and a sample, which has a
// queue of its own, is no way around.
func (s *session) queueHold(ctx context.Context, run jobs.Run, now time.Time) error {
	if s.sampleOf == "" {
		return nil
	}
	pauses, err := s.lim.Pauses(ctx)
	if err != nil {
		return err
	}
	run.Spec.Priority = s.sampleOf
	pauses = slices.DeleteFunc(pauses, func(p limiter.Pause) bool { return p.Lane == "" })
	if p := pauseOf(pauses, run); p != nil {
		return &codedError{exitStopped, &heldError{pauseSentence(p, now)}}
	}
	return nil
}

// longHold is why a hold is not waited for; "" for one that is.
func longHold(h hold, now time.Time) string {
	switch {
	case h.why == "", h.failing:
		return ""
	case h.paused, h.until.IsZero(), h.until.Sub(now) > sampleWaits:
		return h.why
	}
	return ""
}

// longWait is a wait for quota that is not worth it.
func longWait(st worker.Stats, now time.Time) string {
	for _, l := range st.Lanes {
		if l.Waiting != "" && l.Until.Sub(now) > sampleWaits {
			return fmt.Sprintf("%s until %s at the latest", l.Waiting, clock(l.Until, now))
		}
	}
	return ""
}

// ignoreEnd leaves an error out that comes of the context's end.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
