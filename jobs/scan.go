package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// rowState is one row of the ledger.
type rowState struct {
	Task
	State State
}

// eachState reads the ledger of the rows that have ever been, chunk by chunk.
// Rows that left the run are passed over.
func (s *Store) eachState(ctx context.Context, m meta, fn func(rowState)) error {
	for chunk := int64(0); chunk*rowsPerChunk < m.next; chunk++ {
		b, err := s.rdb.Get(ctx, rowKey(m.ID, chunk)).Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		for i := 0; i+bytesPerRow <= len(b); i += bytesPerRow {
			if r := stateAt(m.ID, chunk*rowsPerChunk+int64(i/bytesPerRow), b[i:]); r.State != None {
				fn(r)
			}
		}
	}
	return nil
}

func stateAt(run string, index int64, b []byte) rowState {
	return rowState{Task{run, index, int(b[1])<<8 | int(b[2])}, State(b[0])}
}

// fetched is one row with what is stored of it.
type fetched struct {
	rowState
	row    string // "" where the fields are gone: the result has the id
	fields string
	result string // packed; "" where there is none, or it is not in a field of its own (see stored)
	hidden bool   // the row has changed since the result that its chunk has
	away   bool   // its result is in a file that is not to be seen (see stored.passing)
}

// fetch reads rows by index, of their results those in fields of their own.
func (s *Store) fetch(ctx context.Context, run string, indexes []int64) ([]fetched, error) {
	args := make([]any, 0, 1+len(indexes))
	args = append(args, runPrefix(run))
	for _, n := range indexes {
		args = append(args, n)
	}
	out, err := s.call(ctx, fetchScript, []string{runKey(run)}, args, 3*len(indexes))
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	rows := make([]fetched, len(indexes))
	for i, n := range indexes {
		f := fetched{rowState: rowState{Task: Task{Run: run, Index: n}}, result: str(out[3*i+1])}
		if f.result == noResult {
			f.result, f.hidden = "", true
		}
		if b := str(out[3*i]); len(b) == bytesPerRow {
			f.rowState = stateAt(run, n, []byte(b))
		}
		f.row, f.fields, _ = strings.Cut(str(out[3*i+2]), "\x00")
		rows[i] = f
	}
	return rows, nil
}

// inBatches calls fn with at most n values at a time.
func inBatches[T any](list []T, n int, fn func([]T) error) error {
	for len(list) > 0 {
		k := min(n, len(list))
		if err := fn(list[:k]); err != nil {
			return err
		}
		list = list[k:]
	}
	return nil
}
