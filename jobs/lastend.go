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
	last, err := s.lastEnded(ctx, run)
	if err != nil || last < 0 {
		return r, false, err
	}
	st := s.stored(m)
	defer st.close()
	rows, err := st.fetch(ctx, []int64{last})
	if err != nil || len(rows) == 0 {
		return r, false, err
	}
	line, err := rows[0].line()
	if err != nil || line == nil {
		return r, false, err
	}
	return r, true, json.Unmarshal(line, &r)
}

// lastEnded is the row that ended last, below what was given other fields since; -1
// where none has.
func (s *Store) lastEnded(ctx context.Context, run string) (int64, error) {
	for size := int64(1); ; size *= 64 {
		tail, err := s.rdb.GetRange(ctx, endKey(run), -4*size, -1).Bytes()
		if err != nil {
			return -1, err
		}
		for i := len(tail) - 4; i >= 0; i -= 4 {
			if n := binary.BigEndian.Uint32(tail[i:]); n&refitBit == 0 {
				return int64(n), nil
			}
		}
		if int64(len(tail)) < 4*size {
			return -1, nil
		}
	}
}
