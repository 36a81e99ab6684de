package worker

import (
	"context"
	"time"

	"nightshift/jobs"
)

// waitedBy is how long the row has waited by now, by Redis's clock when it was
// begun and ours since.
func (l *lane) waitedBy(j *job) time.Duration {
	return j.begun.Waited + max(l.w.cfg.Now().Sub(j.looked), 0)
}

// tooLong says that the row has waited longer than its run lets it.
func (l *lane) tooLong(j *job) bool {
	return j.begun.MaxWait > 0 && l.waitedBy(j) >= j.begun.MaxWait
}

// expired ends a row that waited too long, or that begins after its run's deadline,
// without a call. What it waited for is what asynq shows of it; the deadline is the
// one that holds now, whatever it was when the run's record was read.
func (l *lane) expired(ctx context.Context, j *job) outcome {
	last, err := l.w.cfg.Store.LastErrors(ctx, j.run.Spec.Queue(), []jobs.Task{j.task})
	if err != nil {
		last = []string{""} // the end matters more than its story
	}
	j.waited = l.waitedBy(j)
	if j.begun.Late > 0 {
		return outcome{end: jobs.Expired, fail: jobs.DeadlineError(j.begun.Stop.In(j.run.Spec.Steer.Location(time.UTC)), last[0])}
	}
	return outcome{end: jobs.Expired, fail: jobs.MaxWaitError(j.waited, j.begun.MaxWait, last[0])}
}

// cut shortens a wait to what the row may still wait, so that it is looked at in
// time.
func (l *lane) cut(j *job, wait time.Duration) time.Duration {
	if j.begun.MaxWait <= 0 {
		return wait
	}
	left := j.begun.MaxWait - l.waitedBy(j)
	return min(wait, max(left, time.Millisecond))
}
