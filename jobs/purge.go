package jobs

import (
	"context"
	"fmt"
)

// PurgeOptions are the choices of a purge.
type PurgeOptions struct {
	Drained bool // remove drained files too
}

// PurgeReport says what a purge removed.
type PurgeReport struct {
	Rows  int64  // of the run
	Kept  string // directory of drained results that stays; "" when there is none
	Files int    // drained files that were removed
}

// Purge removes a run: its record, ledger, fields, results and the tasks that
// no worker holds. What a handler still brings is refused from then on.
func (s *Store) Purge(ctx context.Context, run string, _ PurgeOptions) (PurgeReport, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return PurgeReport{}, err
	}
	if _, err := s.Cancel(ctx, run); err != nil {
		return PurgeReport{}, err
	}
	r := PurgeReport{Rows: m.Rows}
	if err := s.forgetName(ctx, run); err != nil {
		return r, err
	}
	if err := s.rdb.ZRem(ctx, keyRuns, run).Err(); err != nil {
		return r, err
	}
	// The record goes last: a purge that was cut off can be made again.
	keys := append(m.keys(), countKey(run), endKey(run), runKey(run))
	return r, inBatches(keys, 100, func(batch []string) error { return s.rdb.Unlink(ctx, batch...).Err() })
}

func (s *Store) forgetName(ctx context.Context, run string) error {
	names, err := s.rdb.HGetAll(ctx, keyNames).Result()
	if err != nil {
		return err
	}
	for name, id := range names {
		if id == run {
			return s.rdb.HDel(ctx, keyNames, name).Err()
		}
	}
	return nil
}

// keys are those of a run that there are several of.
func (m meta) keys() []string {
	prefix := runPrefix(m.ID)
	var keys []string
	add := func(kind string, n int64) {
		for i := range n {
			keys = append(keys, fmt.Sprintf("%s%s:%d", prefix, kind, i))
		}
	}
	add("row", m.next/rowsPerChunk+1)
	add("fld", m.next/rowsPerBucket+1)
	add("at", m.next/rowsPerChunk+1)
	add("res", m.next/rowsPerBucket+1)
	add("fold", m.next/rowsPerFold+1)
	add("id", m.shards)
	return keys
}
