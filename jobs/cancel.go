package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

// CancelReport says what a cancel did.
type CancelReport struct {
	Cancelled int64 // were not finished; includes InFlight
	InFlight  int64 // were with a worker: a good answer that still comes is kept
	Finished  int64 // had their end already and keep it
	Before    int64 // had been cancelled before
}

// Cancel ends all rows of a run that are not finished. Tasks that no worker
// holds are deleted; calls in flight finish, and a good answer is kept.
func (s *Store) Cancel(ctx context.Context, run string) (CancelReport, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return CancelReport{}, err
	}
	var r CancelReport
	var open []int64
	err = s.eachState(ctx, m, func(row rowState) {
		switch {
		case row.State == Cancelled:
			r.Before++
		case row.State.Terminal():
			r.Finished++
		default:
			open = append(open, row.Index)
		}
	})
	if err != nil {
		return r, err
	}
	r.Cancelled, r.InFlight, err = s.closeRows(ctx, m, "cancel", open)
	r.Finished += int64(len(open)) - r.Cancelled
	if err == nil && r.Cancelled > 0 {
		err = s.rdb.HSet(ctx, runKey(run), "calls", r.InFlight, "ended", s.now().Unix(), "cancelled", s.now().UnixMilli()).Err()
	}
	return r, err
}

// CancelledCalls is how many calls were under way when the run was cancelled last.
func (s *Store) CancelledCalls(ctx context.Context, run string) (int64, error) {
	return s.field(ctx, run, "calls")
}

// EndedAt is when the last row of a run ended, by its result or by a cancel; zero where
// neither is to be seen, as where a deadline ended all rows without a call. Its error may
// be a *DrainedElsewhereError, with a time that is the cancel's.
func (s *Store) EndedAt(ctx context.Context, run string) (time.Time, error) {
	var at time.Time
	ms, err := s.field(ctx, run, "cancelled")
	if err != nil {
		return at, err
	}
	if ms > 0 {
		at = time.UnixMilli(ms).UTC()
	}
	last, found, err := s.LastEnd(ctx, run)
	if found && last.Finished.After(at) {
		at = last.Finished
	}
	return at, err
}

// closeRows takes rows out of the work and deletes their tasks.
func (s *Store) closeRows(ctx context.Context, m meta, how string, indexes []int64) (closed, running int64, err error) {
	err = inBatches(indexes, 1000, func(batch []int64) error {
		args := make([]any, 0, 2+len(batch))
		args = append(args, runPrefix(m.ID), how)
		for _, n := range batch {
			args = append(args, n)
		}
		out, err := s.call(ctx, closeScript, []string{runKey(m.ID), countKey(m.ID)}, args, 2*len(batch))
		if err != nil {
			return err
		}
		var idle []Task
		for i, n := range batch {
			switch state := State(integer(out[2*i])); state {
			case None:
			case Running:
				running++
				closed++
			default:
				closed++
				if !state.Terminal() {
					idle = append(idle, Task{m.ID, n, int(integer(out[2*i+1]))})
				}
			}
		}
		s.deleteTasks(queueOf(m.Spec), idle)
		return nil
	})
	return closed, running, err
}

// deleteTasks spares the workers tasks that would only end as stale. What it
// cannot delete (a worker has just taken it) ends that way.
func (s *Store) deleteTasks(queue string, tasks []Task) {
	const parallel = 16
	insp := asynq.NewInspectorFromRedisClient(s.rdb)
	work := make(chan Task)
	var wg sync.WaitGroup
	for range min(parallel, len(tasks)) {
		wg.Go(func() {
			for t := range work {
				err := insp.DeleteTask(queue, t.ID())
				if err != nil && !errors.Is(err, asynq.ErrTaskNotFound) && !errors.Is(err, asynq.ErrQueueNotFound) {
					s.log.Debug("task left to end by itself", "task", t.ID(), "error", err)
				}
			}
		})
	}
	for _, t := range tasks {
		work <- t
	}
	close(work)
	wg.Wait()
}
