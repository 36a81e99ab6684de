package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"nightshift/jobs"

	"github.com/hibiken/asynq"
)

// job is one look at one row.
type job struct {
	task      jobs.Task
	row       string // the id the user knows
	begun     jobs.Begun
	looked    time.Time // when it was begun
	run       *run
	attempt   int // from 1
	draft     jobs.Draft
	slot      bool   // a call slot is held
	paid      bool   // it counts in Worker.paid
	placeOnly bool   // a place in the line is wanted, never a call
	called    bool   // a permit was given
	sent      bool   // a request went out at this look
	instead   string // the run's model, when another answered
	request   jobs.Request
	shape     *shape    // of the request
	tier      string    // that the call asks for; "": the API's default
	probe     bool      // it is the fleet's look whether flex serves again
	flex      FlexState // after flex shed the call
	served    string    // the tier that served; "": no call was
	key       string
	waited    time.Duration // from enqueue to the permit
	took      time.Duration
	microUS   *int64
}

// ProcessTask is asynq's handler: nil acknowledges, an error puts the task back
// (see retryDelay and isFailure). asynq's own archive is never used, since it
// drops all but the last 9,999: every end is in the ledger.
//
// The task's context is left aside. It ends when the lease is lost or asynq is
// impatient, while a call that went out is paid for all the same: the call ends
// by its own timeout and its answer is kept, and who comes second finds it.
func (l *lane) ProcessTask(ctx context.Context, t *asynq.Task) error {
	l.w.handlers.Add(1)
	defer l.w.handlers.Done()
	id, _ := asynq.GetTaskID(ctx)
	failures, _ := asynq.GetRetryCount(ctx)
	task, err := jobs.ParseTaskID(id)
	if err != nil || t.Type() != jobs.TaskType {
		return fmt.Errorf("not a row's task (type %q, id %q): %w", t.Type(), id, asynq.SkipRetry)
	}
	if err := l.anothers(task); err != nil {
		return err
	}
	if _, busy := l.w.inHand.LoadOrStore(id, true); busy {
		return waitFor("still in the hands of an earlier look; waits", 5*time.Second, l.w.cfg.Now())
	}
	defer l.w.inHand.Delete(id)
	ctx = context.WithoutCancel(ctx)
	l.together(l.w.cfg.Now())
	if done, err := l.w.fromSpool(ctx, task); done || err != nil {
		return err
	}
	return l.whenFree(ctx, &job{task: task, attempt: failures + 1})
}

// whenFree waits for a call slot before the ledger is told that the row runs:
// until then it may still be cancelled. The slot is kept until the answer is
// stored, so that a killed worker has no more paid answers on its hands than
// slots.
func (l *lane) whenFree(ctx context.Context, j *job) error {
	j.slot = l.slots.take(l.w.stopping, false, l.w.cfg.Now)
	defer func() {
		if j.slot {
			l.slots.give()
		}
		if j.paid {
			l.w.paid.Add(-1)
		}
	}()
	switch {
	case !j.slot && l.w.stopping.Err() != nil:
		return waitFor("handed back by a worker that stops; waits", time.Millisecond, l.w.cfg.Now())
	case !j.slot && !l.slots.short(l.w.cfg.Now()):
		return waitFor("waiting for a free worker", time.Millisecond, l.w.cfg.Now())
	}
	return l.begin(ctx, j)
}

// begin asks the ledger whether there is anything to do.
func (l *lane) begin(ctx context.Context, j *job) (err error) {
	if j.begun, err = l.w.cfg.Store.Begin(ctx, j.task); err != nil {
		return l.away("the ledger", err)
	}
	if j.begun.Outcome != jobs.Proceed {
		l.drop(ctx, j)
		return nil
	}
	j.row, j.looked = j.begun.Row, l.w.cfg.Now()
	l.w.stats.started.Add(1)
	if j.begun.From == jobs.Waiting && !j.placeOnly {
		l.slots.letGo(l.w.cfg.Now())
	}
	var bad *badRunError
	switch j.run, err = l.w.runs.get(ctx, j.task.Run, j.begun.Digest); {
	case errors.Is(err, jobs.ErrNoRun):
		l.drop(ctx, j)
		return nil
	case errors.As(err, &bad):
		return l.settle(ctx, j, outcome{end: jobs.Failed, fail: &jobs.RowError{Cause: "invalid_run", Message: short(err.Error())}})
	case err != nil:
		return l.away("the run's record", err)
	}
	l.w.cfg.Store.Blame(ctx, j.run.Run, &j.begun)
	if err := l.loadDraft(ctx, j); err != nil {
		return l.away("what earlier calls brought", err)
	}
	return l.settle(ctx, j, l.further(j, l.look(ctx, j)))
}

// drop gives the row's place in the line back: it ends without the permit that
// would have done so.
func (l *lane) drop(ctx context.Context, j *job) {
	if err := l.w.cfg.Gate.Drop(ctx, l.lane, j.task.ID()); err != nil {
		l.w.cfg.Logger.Debug("a finished row keeps its place in the line for now", "task", j.task.ID(), "err", err)
	}
}

// away puts a task back because Redis did not answer: nobody's fault, and the
// ledger cannot be told.
func (l *lane) away(what string, err error) error {
	if l.notice.due("redis", l.w.cfg.Now()) {
		l.w.cfg.Logger.Warn("Redis does not answer; rows wait", "lane", l.name, "for", what, "err", err)
	}
	return waitFor("waiting for Redis", 5*time.Second, l.w.cfg.Now())
}

// look decides about one row. A panic is the row's failure, not the worker's.
func (l *lane) look(ctx context.Context, j *job) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			l.w.cfg.Logger.Error("panic while working on a row", "row", j.row, "run", j.task.Run, "panic", p, "stack", string(debug.Stack()))
			out = bad("internal", fmt.Sprint("panic: ", p), 0)
		}
	}()
	if j.attempt > l.attempts(j)+j.draft.Extra {
		return outcome{end: jobs.Failed, fail: &jobs.RowError{Cause: "attempts_exhausted",
			Message: fmt.Sprintf("%d attempts failed or lost their worker", j.attempt-1)}}
	}
	if l.tooLong(j) || j.begun.Late > 0 {
		return l.expired(ctx, j)
	}
	if out, ok := l.makeRequest(ctx, j); !ok {
		return out
	}
	return l.callInSlot(ctx, j)
}

// makeRequest renders the row and gets its files. Not ok: the outcome says why it
// cannot be asked.
func (l *lane) makeRequest(ctx context.Context, j *job) (out outcome, ok bool) {
	var err error
	if j.request, err = j.run.template.Render(j.begun.Fields); err != nil {
		return cannot("template", err), false
	}
	if err := j.request.Attach(l.w.filesOf(ctx, j.task.Run)); err != nil {
		return l.noFile(err), false
	}
	if j.shape, err = j.run.shape(&j.request); err != nil {
		return cannot("invalid_request", err), false
	}
	j.key = j.run.template.Key(&j.request)
	return out, true
}

// cannot ends a row that no call could do.
func cannot(cause string, err error) outcome {
	return outcome{end: jobs.Failed, fail: &jobs.RowError{Cause: cause, Message: short(err.Error())}}
}

// callInSlot makes the call when a slot is free. Without one the row gets a
// place in the limiter's line, unless a pull let it go: then it has its quota
// already and waits for a slot a little longer.
func (l *lane) callInSlot(ctx context.Context, j *job) outcome {
	ctx, landed := l.w.aborts.watch(ctx, j.task.Run)
	defer landed()
	if !j.slot && !j.placeOnly && j.begun.From == jobs.Waiting {
		j.slot = l.slots.take(l.w.stopping, true, l.w.cfg.Now)
	}
	if j.paid = j.slot; j.paid {
		l.w.paid.Add(1)
	}
	return l.callIfOpen(ctx, j)
}
