package worker

import (
	"context"
	"time"

	"nightshift/jobs"
)

// storeTimeout bounds the writing down of an end: longer than a Redis outage
// that the client sits out.
const storeTimeout = time.Minute

// finish stores the row's end before asynq hears of it: first the sink, then
// the ledger and the results, then nil. What was paid for is in at least one of
// sink, Redis or spool when this returns.
func (l *lane) finish(ctx context.Context, j *job, out outcome) error {
	r, settling := l.result(j, out), l.w.cfg.Now()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := l.sink(ctx, r); err != nil {
		l.w.fail(err)
	}
	if l.slots.pulling(l.w.cfg.Now()) {
		l.together(l.w.cfg.Now()) // the slot is still held: no more answers are on our hands for it
	}
	kept, fields, err := l.w.cfg.Store.FinishAs(ctx, j.task, r)
	if err != nil {
		return l.keep(j, r, err)
	}
	if fields != nil { // an update came while the call was under way
		if r.Fields = fields; l.sink(ctx, r) != nil {
			l.w.cfg.Logger.Warn("a row's new fields are in its run's results, not in the results file", "row", j.row, "run", j.task.Run)
		}
	}
	if kept {
		l.w.stats.finished(out.end)
		l.report(r)
		l.looked(j, out.end, reasonOf(out), settling)
	}
	l.dropDraft(ctx, j)
	l.dropFiles(ctx, j, out.end)
	return nil
}

// reasonOf is why a row ended without a usable answer; "" for a good one.
func reasonOf(out outcome) string {
	if out.fail == nil {
		return ""
	}
	return out.fail.Cause
}

func (l *lane) sink(ctx context.Context, r jobs.Result) error {
	if l.w.cfg.Sink == nil {
		return nil
	}
	return l.w.cfg.Sink.Put(ctx, r)
}

func (l *lane) report(r jobs.Result) {
	if l.w.cfg.OnResult != nil {
		l.w.cfg.OnResult(r)
	}
}

// keep spools a result that Redis refused. The task comes again and finds it.
func (l *lane) keep(j *job, r jobs.Result, cause error) error {
	if l.w.cfg.Spool == nil {
		l.w.cfg.Logger.Error("result was refused by Redis and is lost; its row is done again", "row", j.row, "run", j.task.Run, "err", cause)
		return l.away("a result", cause)
	}
	if err := l.w.cfg.Spool.Put(j.task, r); err != nil {
		l.w.cfg.Logger.Error("result could not be kept; its row is done again", "row", j.row, "run", j.task.Run, "err", err)
		return l.away("a result", cause)
	}
	l.w.stats.spooled.Add(1)
	return l.away("a result (it is in the spool)", cause)
}

// fromSpool delivers the result of an earlier look at this row.
func (w *Worker) fromSpool(ctx context.Context, t jobs.Task) (done bool, err error) {
	if w.cfg.Spool == nil {
		return false, nil
	}
	r, ok := w.cfg.Spool.Get(t)
	if !ok {
		return false, nil
	}
	if _, err := w.cfg.Store.Finish(ctx, t, r); err != nil {
		return false, waitFor("waiting for Redis (the answer is in the spool)", 5*time.Second, w.cfg.Now())
	}
	w.deliverOnce(ctx)
	return true, nil
}

// spoolEvery is how often a spool that holds something is delivered.
const spoolEvery = 10 * time.Second

func (w *Worker) deliverSpool(ctx context.Context) {
	for {
		w.deliverOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(spoolEvery):
		}
	}
}

func (w *Worker) deliverOnce(ctx context.Context) {
	if w.cfg.Spool == nil {
		return
	}
	if left, err := w.cfg.Spool.Deliver(ctx, w.cfg.Store); err != nil && ctx.Err() == nil {
		w.cfg.Logger.Warn("results wait in the spool", "left", left, "err", err)
	}
}

// made is how many attempts the row has had: one that ends at this look without a
// request, at its deadline say, has had those before it only.
func (j *job) made() int {
	if j.sent {
		return j.attempt
	}
	return j.attempt - 1
}

// result is the row's line of the results file.
func (l *lane) result(j *job, out outcome) jobs.Result {
	waits := j.begun.Waits.Upto(j.waited)
	return jobs.Result{
		Row: j.row, Run: j.task.Run, Index: j.task.Index, Status: out.end.String(),
		Output: out.output, Raw: j.raw(out), Parsed: out.parsed, Embedding: out.embedding, Fields: j.begun.Fields,
		Model: out.model, Instead: j.instead, Tier: j.served, Finish: out.finish, Usage: j.draft.Usage.Add(out.usage), MicroUSD: addCost(j.draft.MicroUSD, j.microUS),
		Attempts: j.made(), WaitedMS: waits.Total().Milliseconds(), WaitsMS: waits.Millis(), TookMS: j.took.Milliseconds(),
		Error: out.fail, Key: j.key, Finished: l.w.cfg.Now().UTC(),
	}
}
