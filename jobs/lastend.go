package jobs

import (
	"context"
	"encoding/binary"
	"encoding/json"
)

// LastEnd is the result of the row that ended last; false while none has, or where
// it ended without a call. It reads that one row only, however many there are. A
// *DrainedElsewhereError says that this process does not see it.
func (s *Store) LastEnd(ctx context.Context, run string) (r Result, found bool, err error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return r, false, err
	}
	tail, err := s.rdb.GetRange(ctx, endKey(run), -4, -1).Bytes()
	if err != nil || len(tail) < 4 {
		return r, false, err
	}
	st := s.stored(m)
	defer st.close()
	rows, err := st.fetch(ctx, []int64{int64(binary.BigEndian.Uint32(tail))})
	if err != nil || len(rows) == 0 {
		return r, false, err
	}
	line, err := rows[0].line()
	if err != nil || line == nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(line, &r)
}
