package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// ResultsOptions choose results and their order.
type ResultsOptions struct {
	States    []State // empty: all that have ended
	Completed bool    // in the order the rows ended instead of the input's (rows added by an update come last)
}

// Results gives fn each row that has ended. A row that ended without a call
// (cancelled) has its id, fields and status only. Drained results are read from
// their files; a *DrainedElsewhereError says that this process does not see them.
func (s *Store) Results(ctx context.Context, run string, o ResultsOptions, fn func(Result) error) error {
	return s.ResultLines(ctx, run, o, func(line []byte) error {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		return fn(r)
	})
}

// ResultLines is Results without decoding: each line is one JSON object without
// a line break in it, valid until fn returns.
func (s *Store) ResultLines(ctx context.Context, run string, o ResultsOptions, fn func(line []byte) error) error {
	m, err := s.meta(ctx, run)
	if err != nil {
		return err
	}
	var indexes []int64
	err = s.eachState(ctx, m, func(r rowState) {
		if r.State.Terminal() && (len(o.States) == 0 || slices.Contains(o.States, r.State)) {
			indexes = append(indexes, r.Index)
		}
	})
	if err == nil && o.Completed {
		indexes, err = s.asCompleted(ctx, m, indexes)
	}
	if err != nil {
		return err
	}
	st := s.stored(m)
	defer st.close()
	return inBatches(indexes, 256, func(batch []int64) error {
		rows, err := st.fetch(ctx, batch)
		if err != nil {
			return err
		}
		return eachLine(rows, o.States, fn)
	})
}

func eachLine(rows []fetched, states []State, fn func([]byte) error) error {
	for _, r := range rows {
		if !r.State.Terminal() || len(states) > 0 && !slices.Contains(states, r.State) {
			continue // retried since
		}
		line, err := r.line()
		if err != nil {
			return err
		}
		if line == nil {
			continue
		}
		if err := fn(line); err != nil {
			return err
		}
	}
	return nil
}

// line is the row's result, or one made up for a row that ended without; nil
// for a row whose result is elsewhere (EnqueueOptions.Have).
func (r fetched) line() ([]byte, error) {
	if r.result != "" {
		state, line, err := unpack(r.result)
		if err != nil || state == r.State {
			return line, err
		}
	}
	if r.State.Good() {
		return nil, nil
	}
	return Result{Row: r.row, Run: r.Run, Index: r.Index, Status: r.State.String(), Fields: json.RawMessage(r.fields)}.Line()
}

// asCompleted puts rows in the order they ended; those that ended without a
// call come last.
func (s *Store) asCompleted(ctx context.Context, m meta, indexes []int64) ([]int64, error) {
	ends, err := s.rdb.Get(ctx, endKey(m.ID)).Bytes()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	wanted := make([]bool, m.next)
	for _, n := range indexes {
		wanted[n] = true
	}
	out := make([]int64, 0, len(indexes))
	// From the back: a row that was retried counts where it ended last. What has
	// refitBit is no row's index.
	for i := len(ends) - 4; i >= 0; i -= 4 {
		n := int64(ends[i])<<24 | int64(ends[i+1])<<16 | int64(ends[i+2])<<8 | int64(ends[i+3])
		if n < m.next && wanted[n] {
			wanted[n] = false
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	for _, n := range indexes {
		if wanted[n] {
			out = append(out, n)
		}
	}
	return out, nil
}
