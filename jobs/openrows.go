package jobs

import "context"

// openBatch is how many rows are read at a time.
const openBatch = 1000

// OpenRows calls fn with the input row's id of each row of a run that has not ended; of a
// run with several outputs a row it may do so more than once.
func (s *Store) OpenRows(ctx context.Context, run string, fn func(row string)) error {
	m, err := s.meta(ctx, run)
	if err != nil {
		return err
	}
	var open []int64
	err = s.eachState(ctx, m, func(r rowState) {
		if !r.State.Terminal() {
			open = append(open, r.Index)
		}
	})
	if err != nil {
		return err
	}
	join, several := JoinOf(m.Spec)
	return inBatches(open, openBatch, func(batch []int64) error {
		rows, err := s.fetch(ctx, run, batch)
		for _, r := range rows {
			if id := r.row; several {
				id, _ = join.split(id)
				fn(id)
			} else {
				fn(id)
			}
		}
		return err
	})
}
