package jobs

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/redis/go-redis/v9"
)

// endsAtOnce is how many ends one look takes.
const endsAtOnce = 4096

// refitBit marks what is no end: the row had ended before, and its result was given
// other fields.
const refitBit = 1 << 31

// EndedLines gives fn the results of the rows that ended from the n-th end of the run
// on, in the order they ended, and where the next look begins. A row that has been
// queued again since is left out until it ends again, and a row that ended again, or
// whose result was given other fields, comes again. Rows that were cancelled before a worker had them are no end here.
func (s *Store) EndedLines(ctx context.Context, run string, from int64, fn func(line []byte) error) (next int64, err error) {
	m, err := s.meta(ctx, run)
	if err != nil {
		return from, err
	}
	st := s.stored(m)
	defer st.close()
	for {
		ends, err := s.rdb.GetRange(ctx, endKey(m.ID), 4*from, 4*(from+endsAtOnce)-1).Bytes()
		if err != nil && !errors.Is(err, redis.Nil) || len(ends) < 4 {
			return from, err
		}
		indexes := make([]int64, 0, len(ends)/4)
		for i := 0; i+4 <= len(ends); i += 4 {
			indexes = append(indexes, int64(binary.BigEndian.Uint32(ends[i:])&^refitBit))
		}
		err = inBatches(indexes, 256, func(batch []int64) error {
			rows, err := st.fetch(ctx, batch)
			if err != nil {
				return err
			}
			if err := eachLine(rows, nil, fn); err != nil {
				return err
			}
			from += int64(len(batch))
			return nil
		})
		if err != nil {
			return from, err
		}
	}
}
