package jobs

import (
	"context"
	"fmt"
)

// SweepReport says what a sweep found and mended.
type SweepReport struct {
	Open       int64 // rows that are not finished; each one's task was asked for
	Recreated  int64 // had no task
	Unarchived int64 // were archived, by hand or by asynq
	Leaseless  int64 // active without a lease: asynq takes them up again unless their worker lives
	Requeued   int64 // in none of asynq's lists
	Demoted    int64 // Running in the ledger while their task waits: their worker died
	Expired    int64 // had waited longer than MaxWait, and no worker looked at them
}

// What mend.lua says of a task.
const (
	taskHeld = iota
	taskPending
	taskDelayed
	taskMissing
	taskUnarchived
	taskLeaseless
	taskRequeued
)

// Sweep compares a run's open rows with asynq's tasks and mends what differs.
// No row is judged by its absence from a listing: each one's task is asked for
// by its id. A row keeps its generation, so that an answer that its old handler
// still brings counts, and is the only one that does. Rows that have waited too
// long end first.
func (s *Store) Sweep(ctx context.Context, run string) (SweepReport, error) {
	var r SweepReport
	m, err := s.meta(ctx, run)
	if err != nil {
		return r, err
	}
	gone, err := s.Expire(ctx, run, s.now().Add(-expireGrace))
	if r.Expired = int64(len(gone)); err != nil {
		return r, err
	}
	var open []rowState
	err = s.eachState(ctx, m, func(row rowState) {
		if !row.State.Terminal() {
			open = append(open, row)
		}
	})
	if err != nil {
		return r, err
	}
	r.Open = int64(len(open))
	w := s.newTaskWriter(queueOf(m.Spec))
	err = inBatches(open, 500, func(batch []rowState) error { return s.sweepBatch(ctx, m, batch, w, &r) })
	return r, err
}

func (s *Store) sweepBatch(ctx context.Context, m meta, batch []rowState, w *taskWriter, r *SweepReport) error {
	codes, err := s.mend(ctx, w.queue, batch)
	if err != nil {
		return err
	}
	var lost []int64
	var demote []move
	for i, row := range batch {
		switch integer(codes[i]) {
		case taskMissing:
			lost = append(lost, row.Index)
			continue
		case taskUnarchived:
			r.Unarchived++
		case taskLeaseless:
			r.Leaseless++
			continue
		case taskRequeued:
			r.Requeued++
		case taskHeld:
			continue
		}
		if row.State == Running {
			to := Queued
			if integer(codes[i]) == taskDelayed {
				to = RetryWait
			}
			demote = append(demote, move{Task: row.Task, from: Running, to: to})
		}
	}
	if err := s.demote(ctx, m.ID, demote, &r.Demoted); err != nil {
		return err
	}
	return s.recreate(ctx, m.ID, lost, w, r)
}

// mend asks asynq's keys for the rows' tasks.
func (s *Store) mend(ctx context.Context, queue string, batch []rowState) ([]any, error) {
	prefix := "asynq:{" + queue + "}:"
	keys := make([]string, 0, 7)
	for _, list := range []string{"pending", "active", "lease", "retry", "scheduled", "archived", "completed"} {
		keys = append(keys, prefix+list)
	}
	now := s.now()
	args := make([]any, 0, 3+len(batch))
	args = append(args, prefix+"t:", now.Unix(), now.UnixNano())
	for _, row := range batch {
		args = append(args, row.ID())
	}
	out, err := s.call(ctx, mendScript, keys, args, len(batch))
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	return out, nil
}

// demote corrects rows that say Running though no worker has them. Should one
// have begun just now, its end still counts: a row is finished from any open
// state.
func (s *Store) demote(ctx context.Context, run string, ms []move, n *int64) error {
	if len(ms) == 0 {
		return nil
	}
	moved, err := s.moveAll(ctx, run, ms)
	for _, ok := range moved {
		if ok {
			*n++
		}
	}
	return err
}

// recreate writes tasks for rows that have none and are still open.
func (s *Store) recreate(ctx context.Context, run string, indexes []int64, w *taskWriter, r *SweepReport) error {
	if len(indexes) == 0 {
		return nil
	}
	// An enqueue writes no tasks for rows whose results it takes over.
	if taking, err := s.rdb.Exists(ctx, takingKey(run)).Result(); err != nil || taking > 0 {
		return err
	}
	rows, err := s.fetch(ctx, run, indexes)
	if err != nil {
		return err
	}
	var back []move
	for _, row := range rows {
		if row.State == None || row.State.Terminal() || row.row == "" {
			continue
		}
		if row.State != Queued {
			back = append(back, move{Task: row.Task, from: row.State, to: Queued})
		}
		w.add(row.Task, row.row)
	}
	if len(back) > 0 {
		if _, err := s.moveAll(ctx, run, back); err != nil {
			return err
		}
	}
	fresh, err := w.flush(ctx)
	for _, f := range fresh {
		if f {
			r.Recreated++
		}
	}
	return err
}
