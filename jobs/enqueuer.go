package jobs

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// enqueuer is one enqueue under way: one goroutine reads and renders rows,
// another writes them.
type enqueuer struct {
	s     *Store
	m     meta
	o     EnqueueOptions
	total int64
	fill  *batch          // of the reading goroutine
	files *fileFolder     // of the input
	kept  map[string]bool // files that are stored by now, by path and digest; of the reading goroutine
	out   chan *batch     // from it to the writing one

	// Of the writing goroutine.
	tasks   *taskWriter
	done    int64
	report  EnqueueReport
	again   []bool           // whether a task that is being written may be there already
	touched map[int64]uint64 // rows seen, a bit each, for Update
	takes   []taking         // rows that get no task, since their results are taken over
	held    time.Time        // when the sweep was told last
}

// batch is what one call of the ledger script takes.
type batch struct {
	args  []any
	rows  []string
	found []uint32 // where the row's result is (Lookup.row), 0: nowhere
	bytes int
}

// batchBytes bounds what one script holds up Redis with.
const batchBytes = 4 << 20

func (e *enqueuer) run(ctx context.Context, p *Prepared) (EnqueueReport, error) {
	err := e.hold(ctx)
	if err == nil {
		err = e.addAll(ctx, p)
	}
	if err == nil {
		err = e.takeAll(ctx)
	}
	if err == nil && e.o.Update && !p.Mended {
		err = e.finishUpdate(ctx, p.Inputs)
	}
	if err == nil && e.kept != nil { // rows that were finished already ask for nothing
		err = e.s.DropFiles(ctx, e.m.ID)
	}
	if err != nil {
		return e.report, err
	}
	e.report.Run, err = e.s.Load(ctx, e.m.ID)
	e.report.Queue = e.tasks.queue
	return e.report, err
}

// addAll reads and writes side by side; the first error of either ends both.
func (e *enqueuer) addAll(ctx context.Context, p *Prepared) error {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	written := make(chan error, 1)
	go func() {
		err := e.write(ctx)
		if err != nil {
			stop(err)
		}
		written <- err
	}()
	e.newBatch()
	err := p.Each(reading, func(row RenderedRow) error { return e.add(reading, row) })
	if err == nil {
		err = e.send(reading)
	}
	close(e.out)
	if werr := <-written; werr != nil {
		return werr
	}
	return err
}

func (e *enqueuer) newBatch() {
	update := "0"
	if e.o.Update {
		update = "1"
	}
	e.fill = &batch{args: append(make([]any, 0, 3+3*e.s.opts.Batch), runPrefix(e.m.ID), update, e.m.shards)}
}

func (e *enqueuer) add(ctx context.Context, row RenderedRow) error {
	have := None
	if e.o.Have != nil {
		have = e.o.Have(row.ID, row.Key)
	}
	ids, err := idAndKey(row)
	if err != nil {
		return err
	}
	if err := e.keepFiles(ctx, row, have); err != nil {
		return err
	}
	fields := row.ID + "\x00" + string(row.Fields)
	b := e.fill
	b.args = append(b.args, ids, int(have), fields)
	b.rows = append(b.rows, row.ID)
	b.found = append(b.found, e.o.Reuse.row(keyOf(row)))
	b.bytes += len(fields)
	if len(b.rows) < e.s.opts.Batch && b.bytes < batchBytes {
		return nil
	}
	return e.send(ctx)
}

// keepFiles stores what the row's call will send along, before a worker can see
// the row.
func (e *enqueuer) keepFiles(ctx context.Context, row RenderedRow, have State) error {
	if have.Good() {
		return nil
	}
	for f := range row.Files() {
		name := f.Digest + f.Path
		if f.Data != nil || e.kept[name] { // a data: URI is in the row's fields
			continue
		}
		if err := e.s.keepFile(ctx, e.m.ID, f, e.files.content); err != nil {
			return asInputError(err)
		}
		if e.kept == nil || len(e.kept) >= filesKnown {
			e.kept = map[string]bool{}
		}
		e.kept[name] = true
	}
	return nil
}

// idAndKey are a row's two digests, as the ledger's scripts take them.
func idAndKey(row RenderedRow) ([]byte, error) {
	id := digestOf(row.ID)
	b := make([]byte, 32)
	copy(b, id[:])
	_, err := hex.Decode(b[16:], []byte(row.Key))
	return b, err
}

// send hands the batch to the writing goroutine.
func (e *enqueuer) send(ctx context.Context) error {
	if len(e.fill.rows) == 0 {
		return nil
	}
	select {
	case e.out <- e.fill:
		e.newBatch()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write takes batches until there are no more. After an error nothing is
// written.
func (e *enqueuer) write(ctx context.Context) error {
	for b := range e.out {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.flush(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// flush enters a batch in the ledger, then writes its tasks.
func (e *enqueuer) flush(ctx context.Context, b *batch) error {
	if err := e.hold(ctx); err != nil {
		return err
	}
	if err := e.enter(ctx, b); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	fresh, err := e.tasks.flush(ctx)
	if err != nil {
		return err
	}
	for i, f := range fresh {
		if f && e.again[i] {
			e.report.Repaired++
		}
	}
	e.again = e.again[:0]
	if e.done += int64(len(b.rows)); e.o.Progress != nil {
		e.o.Progress(e.done, e.total)
	}
	return nil
}

// enter runs the ledger script and books its answer.
func (e *enqueuer) enter(ctx context.Context, b *batch) error {
	out, err := addScript.Run(ctx, e.s.rdb, []string{runKey(e.m.ID), countKey(e.m.ID)}, b.args...).Slice()
	switch {
	case err != nil:
		return err
	case len(out) == 1:
		for i, row := range b.rows {
			e.count(Task{Run: e.m.ID, Index: integer(out[0]) + int64(i)}, row, b.found[i], 1)
		}
		return nil
	case len(out) != 3*len(b.rows):
		return fmt.Errorf("script answered %d values for %d rows", len(out), len(b.rows))
	}
	for i, row := range b.rows {
		e.count(Task{Run: e.m.ID, Index: integer(out[3*i]), Gen: int(integer(out[3*i+1]))}, row, b.found[i], integer(out[3*i+2]))
	}
	return nil
}

// count books what the ledger said of one row (codes of add.lua).
func (e *enqueuer) count(t Task, row string, found uint32, code int64) {
	if e.o.Update {
		e.touched[t.Index/64] |= 1 << (t.Index % 64)
	}
	switch {
	case code != 1 && code != 4 && code != 5:
	case found > 0:
		e.takes = append(e.takes, taking{t.Index, t.Gen, found})
	default:
		e.tasks.add(t, row)
		e.again = append(e.again, code == 4)
	}
	switch code {
	case 1:
		e.report.New++
	case 2:
		e.report.New++
		e.report.Taken++
	case 5, 6:
		e.report.Changed++
	default:
		if e.report.Known++; len(e.report.KnownRows) < MaxProblems {
			e.report.KnownRows = append(e.report.KnownRows, row)
		}
	}
}

// finishUpdate removes what is left over and records that the run is this input.
func (e *enqueuer) finishUpdate(ctx context.Context, inputs string) (err error) {
	if e.report.Removed, err = e.removeOthers(ctx); err != nil {
		return err
	}
	return e.s.rdb.HSet(ctx, runKey(e.m.ID), "inputs", inputs).Err()
}

// removeOthers takes the rows that this input did not have out of the run.
func (e *enqueuer) removeOthers(ctx context.Context) (int64, error) {
	m, err := e.s.meta(ctx, e.m.ID)
	if err != nil {
		return 0, err
	}
	var gone []int64
	err = e.s.eachState(ctx, m, func(r rowState) {
		if e.touched[r.Index/64]&(1<<(r.Index%64)) == 0 {
			gone = append(gone, r.Index)
		}
	})
	if err != nil {
		return 0, err
	}
	n, _, err := e.s.closeRows(ctx, m, "remove", gone)
	if err != nil || n == 0 {
		return n, err
	}
	return n, e.s.rdb.HIncrBy(ctx, runKey(e.m.ID), "dropped", n).Err()
}
