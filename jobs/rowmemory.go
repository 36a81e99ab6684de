package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// What a waiting row takes in Redis beyond 1.2 × the bytes of its fields: its task,
// its places in the ledger and in the line. BenchmarkMemory and the limiter's test
// of a ticket's size print what this is made of.
const (
	RowOverhead    = 900
	payloadPer1000 = 1200
	listEntry      = 16 // of asynq's pending list, beside the task's id
	ledgerPerRow   = bytesPerRow + bytesPerTime
)

// RowsMemory is about what rows take in Redis while they wait.
func RowsMemory(rows, bytes int64) int64 { return bytes*payloadPer1000/1000 + rows*RowOverhead }

// RowMemory measures what a waiting row of a run takes in Redis, by its keys'
// memory: fields, ids, ledger and task; a ticket in the limiter's line is not in it.
// An error is of a Redis that does not tell, or of a run without waiting rows.
func (s *Store) RowMemory(ctx context.Context, run string) (int64, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return 0, err
	}
	row, err := s.oneInLine(ctx, m)
	if err != nil {
		return 0, err
	}
	each := int64(ledgerPerRow)
	for _, key := range []string{fmt.Sprintf("%sfld:%d", runPrefix(run), row.Index/rowsPerBucket), s.anyShard(ctx, m)} {
		size, err := s.rdb.MemoryUsage(ctx, key).Result()
		if err != nil {
			return 0, err
		}
		n, err := s.rdb.HLen(ctx, key).Result()
		if err != nil {
			return 0, err
		}
		each += size / max(n, 1)
	}
	task, err := s.rdb.MemoryUsage(ctx, "asynq:{"+queueOf(m.Spec)+"}:t:"+row.ID()).Result()
	if errors.Is(err, redis.Nil) {
		err = nil // begun just now
	}
	return each + task + int64(len(row.ID())) + listEntry, err
}

// anyShard is an id hash that is there: the first of a few.
func (s *Store) anyShard(ctx context.Context, m meta) string {
	key := ""
	for n := range min(m.shards, 16) {
		key = fmt.Sprintf("%sid:%d", runPrefix(m.ID), n)
		if ok, err := s.rdb.Exists(ctx, key).Result(); err != nil || ok > 0 {
			break
		}
	}
	return key
}

// oneInLine finds a row that waits: in its queue, or for its permit.
func (s *Store) oneInLine(ctx context.Context, m meta) (rowState, error) {
	for chunk := int64(0); chunk*rowsPerChunk < m.next; chunk++ {
		b, err := s.rdb.Get(ctx, rowKey(m.ID, chunk)).Bytes()
		if err != nil && !errors.Is(err, redis.Nil) {
			return rowState{}, err
		}
		for i := 0; i+bytesPerRow <= len(b); i += bytesPerRow {
			if r := stateAt(m.ID, chunk*rowsPerChunk+int64(i/bytesPerRow), b[i:]); r.State == Queued || r.State == Waiting {
				return r, nil
			}
		}
	}
	return rowState{}, ErrNoRow
}
