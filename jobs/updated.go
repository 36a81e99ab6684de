package jobs

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// finishUpdate removes what is left over and records that the run is this input.
func (e *enqueuer) finishUpdate(ctx context.Context, p *Prepared) error {
	m, err := e.s.meta(ctx, e.m.ID)
	if err != nil {
		return err
	}
	gone, stayed, err := e.s.leaving(ctx, m, p, e.touched)
	if err != nil {
		return err
	}
	e.report.Stayed = stayed
	if e.report.Removed, err = e.remove(ctx, m, gone); err != nil {
		return err
	}
	inputs := p.Inputs
	if stayed > 0 { // the run has more than these: the next enqueue compares row by row
		inputs = ""
		if err := e.s.keepsMended(ctx, e.m.ID, stayed/p.rowsEach()); err != nil {
			return err
		}
	}
	return e.s.rdb.HSet(ctx, runKey(e.m.ID), "inputs", inputs).Err()
}

// keepsMended notes that the run has rows which its input leaves out.
func (s *Store) keepsMended(ctx context.Context, run string, rows int64) error {
	m, err := s.meta(ctx, run)
	if err != nil {
		return err
	}
	m.LeftOut = max(0, m.LeftOut-rows)
	return s.save(ctx, m)
}

// rowSet is rows of a run, a bit each, by 64 of them.
type rowSet map[int64]uint64

func (r rowSet) add(index int64)      { r[index/64] |= 1 << (index % 64) }
func (r rowSet) has(index int64) bool { return r[index/64]&(1<<(index%64)) != 0 }

// leaving are the rows of the run that an update with p takes out of it: p has not
// those that are not in have. Rows that p has and leaves out as bad stay, with the
// answers they had when they were good or were mended since in the file of such rows.
// Which they are their ids tell; a line whose id cannot be read may be any mended row.
func (s *Store) leaving(ctx context.Context, m meta, p *Prepared, have rowSet) (gone []int64, stayed int64, err error) {
	bad, err := s.badHere(ctx, m, p)
	if err != nil {
		return nil, 0, err
	}
	mended, err := s.mendedRows(ctx, m, p)
	if err != nil {
		return nil, 0, err
	}
	var maybe []int64
	err = s.eachState(ctx, m, func(r rowState) {
		switch {
		case have.has(r.Index):
		case bad.has(r.Index):
			stayed++
		case mended.has(r.Index):
			maybe = append(maybe, r.Index)
		default:
			gone = append(gone, r.Index)
		}
	})
	if n := int64(len(maybe)); n <= p.LeftOut*p.rowsEach()-stayed {
		return gone, stayed + n, err
	}
	return append(gone, maybe...), stayed, err
}

// mendedRows are those that came from files of rows which were left out.
func (s *Store) mendedRows(ctx context.Context, m meta, p *Prepared) (rowSet, error) {
	rows := rowSet{}
	if p.LeftOut == 0 {
		return rows, nil
	}
	b, err := s.rdb.Get(ctx, mendedKey(m.ID)).Bytes()
	for i := 0; i+4 <= len(b); i += 4 {
		rows.add(int64(binary.BigEndian.Uint32(b[i:])))
	}
	return rows, orNil(err)
}

// markMended notes the rows that are new in the run by such a file.
func (e *enqueuer) markMended(ctx context.Context) error {
	if len(e.mended) == 0 {
		return nil
	}
	b := make([]byte, 0, 4*len(e.mended))
	for _, n := range e.mended {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	e.mended = e.mended[:0]
	return e.s.rdb.Append(ctx, mendedKey(e.m.ID), string(b)).Err()
}

// badHere are the rows of the run that the input has and leaves out.
func (s *Store) badHere(ctx context.Context, m meta, p *Prepared) (rowSet, error) {
	bad := rowSet{}
	err := inBatches(p.left.digests(), 1000, func(batch []digest) error {
		cmds, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, id := range batch {
				shard := (int64(id[0])<<16 | int64(id[1])<<8 | int64(id[2])) % m.shards
				pipe.HGet(ctx, fmt.Sprintf("%sid:%d", runPrefix(m.ID), shard), string(id[:]))
			}
			return nil
		})
		if orNil(err) != nil {
			return err
		}
		for _, c := range cmds {
			if v, err := c.(*redis.StringCmd).Bytes(); err == nil && len(v) >= 4 {
				bad.add(int64(binary.BigEndian.Uint32(v)))
			}
		}
		return nil
	})
	return bad, err
}

// remove takes rows out of the run.
func (e *enqueuer) remove(ctx context.Context, m meta, gone []int64) (int64, error) {
	n, _, err := e.s.closeRows(ctx, m, "remove", gone)
	if err != nil || n == 0 {
		return n, err
	}
	return n, e.s.rdb.HIncrBy(ctx, runKey(e.m.ID), "dropped", n).Err()
}
