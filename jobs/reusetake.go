package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// taking is a row of the new run that is to take over a result. It is queued in
// the ledger and has no task: whatever ends the enqueue, the row is asked for.
type taking struct {
	index int64
	gen   int
	row   uint32 // in the lookup, from 1
}

// takingFor is how long Sweep leaves rows without tasks to an enqueue that gives
// no sign.
const takingFor = time.Minute

// hold tells the sweep that rows without tasks are under way. It is renewed at
// each batch, at most every few seconds.
func (e *enqueuer) hold(ctx context.Context) error {
	now := e.s.now()
	if e.o.Reuse == nil || e.o.Reuse.Same == 0 || now.Sub(e.held) < takingFor/6 {
		return nil
	}
	e.held = now
	return e.s.rdb.Set(ctx, takingKey(e.m.ID), "1", takingFor).Err()
}

// takeAll takes the results over that the lookup found, place by place, in the
// order in which they are stored. What is no longer there is enqueued.
func (e *enqueuer) takeAll(ctx context.Context) error {
	if len(e.takes) == 0 {
		return nil
	}
	found := e.o.Reuse.found
	slices.SortFunc(e.takes, func(a, b taking) int {
		x, y := found[a.row-1], found[b.row-1]
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.index, y.index))
	})
	for len(e.takes) > 0 {
		at, n := found[e.takes[0].row-1].place, 1
		for n < len(e.takes) && found[e.takes[n].row-1].place == at {
			n++
		}
		if err := e.takeFrom(ctx, e.o.Reuse.places[at-1], e.takes[:n]); err != nil {
			return fmt.Errorf("taking results over: %w", err)
		}
		e.takes = e.takes[n:]
	}
	return e.s.rdb.Del(ctx, takingKey(e.m.ID)).Err()
}

func (e *enqueuer) takeFrom(ctx context.Context, p place, list []taking) error {
	if p.file != "" {
		return e.takeFromFile(ctx, p, list)
	}
	st := e.s.stored(p.meta)
	defer st.close()
	return inBatches(list, e.s.opts.Batch, func(batch []taking) error {
		lines, err := st.goodLines(ctx, e.o.Reuse, batch)
		if err != nil {
			return err
		}
		return e.take(ctx, p, batch, lines)
	})
}

// goodLines reads the results to be taken over; nil where there is none any more.
func (st *stored) goodLines(ctx context.Context, l *Lookup, batch []taking) ([][]byte, error) {
	indexes := make([]int64, len(batch))
	for i, t := range batch {
		indexes[i] = int64(l.found[t.row-1].index)
	}
	lines := make([][]byte, len(batch))
	rows, err := st.fetch(ctx, indexes)
	var elsewhere *DrainedElsewhereError
	if errors.As(err, &elsewhere) { // drained since, and not to be seen: one by one
		return lines, st.eachGoodLine(ctx, indexes, lines)
	}
	for i, r := range rows {
		if state, line, err := unpack(r.result); err == nil && state == r.State && state.Good() {
			lines[i] = line
		}
	}
	return lines, err
}

func (st *stored) eachGoodLine(ctx context.Context, indexes []int64, lines [][]byte) error {
	for i, n := range indexes {
		rows, err := st.fetch(ctx, []int64{n})
		var elsewhere *DrainedElsewhereError
		if errors.As(err, &elsewhere) {
			continue
		}
		if err != nil {
			return err
		}
		if state, line, err := unpack(rows[0].result); err == nil && state.Good() {
			lines[i] = line
		}
	}
	return nil
}

func (e *enqueuer) takeFromFile(ctx context.Context, p place, list []taking) error {
	var batch []taking
	var lines [][]byte
	flush := func() error {
		err := e.take(ctx, p, batch, lines)
		batch, lines = batch[:0], lines[:0]
		return err
	}
	err := eachLineOf(ctx, p.file, func(n uint32, line []byte) error {
		for len(list) > 0 && e.o.Reuse.found[list[0].row-1].index == n {
			batch, lines, list = append(batch, list[0]), append(lines, bytes.Clone(line)), list[1:]
		}
		if len(batch) < e.s.opts.Batch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	for _, t := range list { // the file has become shorter
		batch, lines = append(batch, t), append(lines, nil)
	}
	return flush()
}

// take gives rows their results and enqueues those that have none after all.
func (e *enqueuer) take(ctx context.Context, p place, batch []taking, lines [][]byte) error {
	if len(batch) == 0 {
		return nil
	}
	if err := e.hold(ctx); err != nil {
		return err
	}
	indexes := make([]int64, len(batch))
	for i, t := range batch {
		indexes[i] = t.index
	}
	rows, err := e.s.fetch(ctx, e.m.ID, indexes)
	if err != nil {
		return err
	}
	var results []Result
	var ends []ending
	for i, row := range rows {
		if row.State != Queued || row.Gen != batch[i].gen {
			continue // cancelled or purged meanwhile, or another enqueue was quicker
		}
		r, ok := e.takeOver(lines[i], e.o.Reuse.table.rows[batch[i].row-1].key, p, row)
		if !ok {
			e.tasks.add(row.Task, row.row)
			continue
		}
		end, err := endOf(row.Task, r)
		if err != nil {
			return err
		}
		end.cause = "taken" // the brake does not count it
		results, ends = append(results, r), append(ends, end)
	}
	if err := e.store(ctx, results, ends); err != nil {
		return err
	}
	_, err = e.tasks.flush(ctx)
	return err
}

// store tells the caller of results before the ledger has them: a row that is in
// the ledger alone would be in no file of the caller's.
func (e *enqueuer) store(ctx context.Context, results []Result, ends []ending) error {
	if len(ends) == 0 {
		return nil
	}
	if e.o.Reused != nil {
		if err := e.o.Reused(ctx, results); err != nil {
			return err
		}
	}
	ok, err := e.s.finishAll(ctx, e.m.ID, ends)
	for _, took := range ok {
		if took {
			e.report.Reused++
		}
	}
	return err
}

// takeOver makes a row's result of another's; false where that is not what the
// row asks for, or no good answer of the run's own model.
func (e *enqueuer) takeOver(line []byte, key digest, p place, row fetched) (Result, bool) {
	var r Result
	if line == nil || json.Unmarshal(line, &r) != nil || r.Key != hex.EncodeToString(key[:]) || goodEnd(r, ParseState(r.Status)) == "" {
		return r, false
	}
	from := r.From
	if from == nil {
		from = &Origin{Run: cmp.Or(r.Run, p.ID), Row: r.Row, Finished: r.Finished}
	}
	none := int64(0)
	return Result{
		Row: row.row, Run: e.m.ID, Index: row.Index, Status: Cached.String(), Fields: json.RawMessage(row.fields), Key: r.Key,
		Output: r.Output, Raw: r.Raw, Parsed: r.Parsed, Embedding: r.Embedding, Model: r.Model, Finish: r.Finish,
		MicroUSD: &none, Finished: e.s.now().UTC(), From: from,
	}, true
}
