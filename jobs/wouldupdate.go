package jobs

import (
	"context"
	"fmt"
)

// WouldUpdate is what EnqueueOptions.Update would do to rows of a run that stay as they
// were asked, or leave it.
type WouldUpdate struct {
	Run               Run   // zero: there is none, all is new
	Removed           int64 // not in the input
	Stayed            int64 // bad and left out in the input, and kept
	OtherFields       int64 // have other fields, and would have these
	OtherFieldsUnseen int64 // have results in files of another host: nobody knows
}

// WouldUpdate compares p with the run that an enqueue of it would update. It reads the
// results of the rows that have ended, and writes nothing.
func (s *Store) WouldUpdate(ctx context.Context, p *Prepared) (WouldUpdate, error) {
	m, known, err := s.namesake(ctx, p)
	if err != nil || !known {
		return WouldUpdate{}, err
	}
	w := WouldUpdate{Run: m.Run}
	st := s.stored(m)
	st.passing = true
	defer st.close()
	have := rowSet{}
	err = s.eachCompared(ctx, m, p, wholeRows, func(rows []besideRow) error {
		for _, r := range rows {
			if r.code != 0 {
				have.add(r.index)
			}
		}
		return w.compare(ctx, st, rows)
	})
	var gone []int64
	if err == nil && !p.Mended {
		gone, w.Stayed, err = s.leaving(ctx, m, p, have)
	}
	if err != nil {
		return w, fmt.Errorf("comparing with run %s: %w", m.Title(), err)
	}
	w.Removed = int64(len(gone))
	return w, nil
}

// compare looks at rows of the input that the run asks as they are.
func (w *WouldUpdate) compare(ctx context.Context, st *stored, rows []besideRow) error {
	var same []besideRow
	var indexes []int64
	for _, r := range rows {
		if r.code != 0 && r.code&changedBit == 0 {
			same, indexes = append(same, r), append(indexes, r.index)
		}
	}
	if len(same) == 0 {
		return nil
	}
	was, err := st.fetch(ctx, indexes)
	if err != nil {
		return err
	}
	for i, r := range was {
		fields := string(same[i].row.Fields)
		line, err := r.refit(fields)
		if err != nil {
			return err
		}
		if line != nil || r.row != "" && r.fields != fields {
			w.OtherFields++
		} else if r.away {
			w.OtherFieldsUnseen++
		}
	}
	return nil
}
