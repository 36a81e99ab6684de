package jobs

import (
	"context"
	"fmt"
	"strings"
)

// knownRow is a row that an update finds in its run, asked as before.
type knownRow struct {
	index int64
	place int  // in the batch
	moved bool // Redis had other fields of it, and has these now
	ended bool // it may have a result
}

// refit gives the results of known rows the fields of this input: what is in no
// prompt makes no answer, and is what it says in the file that was given last. The
// rows are asked nothing.
func (e *enqueuer) refit(ctx context.Context, b *batch) error {
	known := e.known
	e.known = e.known[:0]
	var places []knownRow
	var indexes []int64
	for _, k := range known {
		switch {
		case k.ended:
			places, indexes = append(places, k), append(indexes, k.index)
		case k.moved:
			e.report.OtherFields++
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	rows, err := e.results.fetch(ctx, indexes)
	if err != nil {
		return fmt.Errorf("comparing the rows' fields: %w", err)
	}
	var w refitted
	for i, r := range rows {
		_, fields, _ := strings.Cut(b.text(places[i].place), "\x00")
		line, err := r.refit(fields)
		if err != nil {
			return fmt.Errorf("row %s: %w", r.ID(), err)
		}
		if r.away {
			e.report.OtherFieldsUnseen++
		}
		if line != nil || places[i].moved {
			e.report.OtherFields++
		}
		if line == nil {
			continue
		}
		if err := w.add(ctx, e.s, r, line); err != nil {
			return err
		}
	}
	return w.flush(ctx, e.s, e.m.ID)
}

// text is "row id NUL fields" of a row of the batch.
func (b *batch) text(place int) string { return b.args[batchHead+rowArgs*place+2].(string) }

// refit is the row's result with these fields, nil where it has them or there is no
// result in the store.
func (r fetched) refit(fields string) ([]byte, error) {
	if r.result == "" || !r.State.Terminal() {
		return nil, nil
	}
	state, line, err := unpack(r.result)
	if err != nil || state != r.State {
		return nil, err
	}
	if same, err := hasFields(line, fields); same || err != nil {
		return nil, err
	}
	return withFields(line, fields)
}

// refitted are results that are to be written.
type refitted struct {
	args  []any
	rows  int
	bytes int
}

func (w *refitted) add(ctx context.Context, s *Store, r fetched, line []byte) error {
	if w.args == nil {
		w.args = []any{runPrefix(r.Run)}
	}
	value := pack(r.State, line)
	w.args = append(w.args, r.Index, r.Gen, int(r.State), value)
	w.rows++
	if w.bytes += len(value); w.bytes < batchBytes {
		return nil
	}
	return w.flush(ctx, s, r.Run)
}

// flush writes them. A row that is in another state by now has, or will have, its
// fields from the ledger.
func (w *refitted) flush(ctx context.Context, s *Store, run string) error {
	if w.rows == 0 {
		return nil
	}
	if _, err := s.call(ctx, refitScript, []string{runKey(run), endKey(run)}, w.args, w.rows); err != nil {
		return fmt.Errorf("writing the rows' fields: %w", err)
	}
	*w = refitted{}
	return nil
}
