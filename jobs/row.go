package jobs

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// RowInfo is all that is known of one row.
type RowInfo struct {
	Task
	Row    string
	State  State
	Queue  string
	Fields json.RawMessage
	Result *Result // of its last end; nil while it has none
}

// Row looks a row up by the id the user knows. With a *DrainedElsewhereError all
// but its result is there.
func (s *Store) Row(ctx context.Context, run, row string) (RowInfo, error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return RowInfo{}, err
	}
	id := digestOf(row)
	shard := (int64(id[0])<<16 | int64(id[1])<<8 | int64(id[2])) % m.shards
	v, err := s.rdb.HGet(ctx, fmt.Sprintf("%sid:%d", runPrefix(run), shard), string(id[:])).Bytes()
	if errors.Is(err, redis.Nil) || err == nil && len(v) < 4 {
		return RowInfo{}, fmt.Errorf("%w: %q in run %s", ErrNoRow, row, m.Title())
	}
	if err != nil {
		return RowInfo{}, err
	}
	st := s.stored(m)
	defer st.close()
	rows, err := st.fetch(ctx, []int64{int64(binary.BigEndian.Uint32(v))})
	var elsewhere *DrainedElsewhereError
	if err != nil && !errors.As(err, &elsewhere) {
		return RowInfo{}, err
	}
	if rows[0].State == None {
		return RowInfo{}, fmt.Errorf("%w: %q has left run %s", ErrNoRow, row, m.Title())
	}
	info, err2 := rows[0].info(row, queueOf(m.Spec))
	return info, cmp.Or(err2, err)
}

func (r fetched) info(row, queue string) (RowInfo, error) {
	i := RowInfo{Task: r.Task, Row: row, State: r.State, Queue: queue, Fields: json.RawMessage(r.fields)}
	if r.result == "" {
		return i, nil
	}
	_, line, err := unpack(r.result)
	if err != nil {
		return i, err
	}
	i.Result = new(Result)
	if err := json.Unmarshal(line, i.Result); err != nil {
		return i, err
	}
	if len(i.Fields) == 0 {
		i.Fields = i.Result.Fields
	}
	return i, nil
}
