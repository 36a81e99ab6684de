package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// RetryFilter chooses among a run's rows that ended without a usable answer;
// what is empty takes all.
type RetryFilter struct {
	States []State
	Causes []string // RowError.Cause
	Rows   []string // row ids
}

// Retry enqueues rows that ended badly again, as a new generation, and says how
// many.
func (s *Store) Retry(ctx context.Context, run string, f RetryFilter) (int64, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return 0, err
	}
	if err := s.watch(ctx, m.Run); err != nil {
		return 0, err
	}
	var bad []int64
	err = s.eachState(ctx, m, func(r rowState) {
		if r.State.Terminal() && !r.State.Good() && (len(f.States) == 0 || slices.Contains(f.States, r.State)) {
			bad = append(bad, r.Index)
		}
	})
	if err != nil {
		return 0, err
	}
	var n int64
	w := s.newTaskWriter(queueOf(m.Spec))
	st := s.stored(m)
	defer st.close()
	fetch := st.fetch
	if len(f.Causes) == 0 { // nobody asks what the results say
		fetch = st.fields
	}
	err = inBatches(bad, s.opts.Batch, func(batch []int64) error {
		rows, err := fetch(ctx, batch)
		if err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(r fetched) bool { return !f.takes(r) })
		k, err := s.reopen(ctx, run, rows, w)
		n += k
		return err
	})
	return n, err
}

func (f RetryFilter) takes(r fetched) bool {
	if len(f.Rows) > 0 && !slices.Contains(f.Rows, r.row) {
		return false
	}
	return len(f.Causes) == 0 || slices.Contains(f.Causes, r.cause())
}

// cause is why the row ended badly; "" where no result says it.
func (r fetched) cause() string {
	state, line, err := unpack(r.result)
	if err != nil || state != r.State {
		return ""
	}
	var res struct{ Error RowError }
	_ = json.Unmarshal(line, &res)
	return res.Error.Cause
}

// reopen queues rows in the ledger, then writes their tasks.
func (s *Store) reopen(ctx context.Context, run string, rows []fetched, w *taskWriter) (int64, error) {
	if len(rows) == 0 {
		return 0, nil
	}
	args := make([]any, 0, 1+3*len(rows))
	args = append(args, runPrefix(run))
	for _, r := range rows {
		args = append(args, r.Index, r.Gen, int(r.State))
	}
	out, err := s.call(ctx, reopenScript, []string{countKey(run)}, args, len(rows))
	if err != nil {
		return 0, fmt.Errorf("retry: %w", err)
	}
	var n int64
	for i, r := range rows {
		if gen := integer(out[i]); gen > 0 {
			n++
			w.add(Task{run, r.Index, int(gen)}, r.row)
		}
	}
	_, err = w.flush(ctx)
	return n, err
}
