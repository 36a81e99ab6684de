package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
)

// attempts is how often the row may be tried.
func (l *lane) attempts(j *job) int {
	if n := j.run.Spec.Attempts; n > 0 {
		return n
	}
	return l.w.cfg.Attempts
}

// settle writes down what became of the row and tells asynq.
func (l *lane) settle(ctx context.Context, j *job, out outcome) error {
	switch {
	case out.dropped: // a cancelled row's task finds that out when it comes back
		return l.putBack(ctx, j, outcome{wait: time.Second, why: "its call was aborted", cause: jobs.WaitPaused})
	case out.wait > 0:
		out.wait = l.cut(j, out.wait)
		return l.putBack(ctx, j, out)
	case out.again && l.keepDraft(ctx, j, out):
		return l.tryAgain(ctx, j, out)
	case out.end == jobs.None && !l.last(j, out):
		l.keepDraft(ctx, j, out)
		return l.tryAgain(ctx, j, out)
	case out.end == jobs.None && out.lane && (l.health.bad(l.w.cfg.Now()) || l.way.doubtful(l.w.cfg.Now())):
		return l.putBack(ctx, j, outcome{wait: maxBackoff, why: "waiting for the provider to recover (" + out.fail.Cause + ")", cause: jobs.WaitErrors})
	case out.end == jobs.None:
		out.end = lastState(out)
		out.fail.Message = fmt.Sprintf("%s (attempt %d of %d)", out.fail.Message, j.attempt, l.most(j, out))
	}
	if !j.called {
		l.drop(ctx, j)
	}
	return l.finish(ctx, j, j.fallBack(out))
}

// most is how many attempts a row that has ended could have had: all, or as many as
// it took to use up those that its cause is worth.
func (l *lane) most(j *job, out outcome) int {
	if out.limit > 0 && j.draft.Tries[out.fail.Cause]+1 >= out.limit {
		return j.attempt
	}
	return l.attempts(j) + j.draft.Extra
}

// last says whether a failure was the row's last attempt: of all, or of those that
// its cause is worth.
func (l *lane) last(j *job, out outcome) bool {
	if out.limit > 0 && j.draft.Tries[out.fail.Cause]+1 >= out.limit {
		return true
	}
	return j.attempt >= l.attempts(j)+j.draft.Extra
}

// lastState is the end of a row that is out of attempts.
func lastState(out outcome) jobs.State {
	if out.fail.Cause == causeIncomplete {
		return jobs.Truncated
	}
	return jobs.Failed
}

// putBack lets the row wait. The ledger may miss it when Redis is away; the
// sweep corrects that.
func (l *lane) putBack(ctx context.Context, j *job, out outcome) error {
	now := l.w.cfg.Now()
	if err := l.w.cfg.Store.Wait(ctx, j.task, out.cause, j.begun.Waits); err != nil {
		l.w.cfg.Logger.Debug("ledger does not show that a row waits", "row", j.row, "run", j.task.Run, "err", err)
	}
	if out.key && l.w.cfg.KeyRemedy != "" {
		out.why += ": " + l.w.cfg.KeyRemedy
	}
	until := now.Add(out.wait)
	if !out.until.IsZero() {
		until = out.until
	}
	if out.alarm != "" && l.notice.due(out.alarm, now) {
		l.w.cfg.Logger.Error("no call of this lane can succeed; its rows wait and are not failed",
			"lane", l.name, "reason", out.alarm, "why", out.why, "until", until.UTC().Truncate(time.Second))
	}
	l.looked(j, jobs.Waiting, out.cause.String(), now)
	l.w.stats.back[out.cause].Add(1)
	l.w.stats.waits(l.name, out.why, until, now)
	return &waitError{text: waitText(out.why, until, now), after: out.wait}
}

// failedFor is before the cause in what asynq shows of a row that failed.
const failedFor = " failed: "

// FailedOf gives the cause of which a row's last attempt failed, from what asynq
// shows of its task; "" when the row waits for something else.
func FailedOf(lastErr string) string {
	attempt, rest, ok := strings.Cut(lastErr, failedFor)
	if !ok || !strings.HasPrefix(attempt, "attempt ") {
		return ""
	}
	cause, _, _ := strings.Cut(rest, ": ")
	return cause
}

// tryAgain counts a failure.
func (l *lane) tryAgain(ctx context.Context, j *job, out outcome) error {
	now := l.w.cfg.Now()
	defer func() { l.looked(j, jobs.RetryWait, out.fail.Cause, now) }()
	if err := l.w.cfg.Store.RetryWait(ctx, j.task, j.begun.Waits); err != nil {
		l.w.cfg.Logger.Debug("ledger does not show that a row failed once", "row", j.row, "run", j.task.Run, "err", err)
	}
	l.w.stats.retries.Add(1)
	after := backoff(j.attempt)
	text := fmt.Sprintf("attempt %d of %d"+failedFor+"%s: %s", j.attempt, l.attempts(j)+j.draft.Extra, out.fail.Cause, out.fail.Message)
	if out.again {
		after = backoff(0)
	}
	l.w.cfg.Logger.Debug("row failed and will be tried again", "row", j.row, "run", j.task.Run, "cause", out.fail.Cause, "status", out.fail.Status, "after", after)
	return &retryError{text: text, after: after}
}
