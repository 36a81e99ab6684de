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
	again   []bool     // whether a task that is being written may be there already
	touched rowSet     // rows seen, for Update
	known   []knownRow // of a batch, for Update
	results *stored    // of the run, for Update
	mends   bool       // the input is rows that were left out
	mended  []int64    // of those the new ones that are not noted yet
	takes   []taking   // rows that get no task, since their results are taken over
	held    time.Time  // when the sweep was told last
}

// batch is what one call of the ledger script takes.
type batch struct {
	args  []any
	rows  []string
	found []uint32 // where the row's result is (Lookup.row), 0: nowhere
	bytes int
}

// A batch's arguments begin with batchHead ones of the run; each row has rowArgs.
const (
	batchHead = 3
	rowArgs   = 3
)

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
		err = e.finishUpdate(ctx, p)
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
	e.fill = &batch{args: append(make([]any, 0, batchHead+rowArgs*e.s.opts.Batch), runPrefix(e.m.ID), update, e.m.shards)}
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
	if err := e.markMended(ctx); err != nil {
		return err
	}
	if err := e.refit(ctx, b); err != nil {
		return err
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
			e.count(Task{Run: e.m.ID, Index: integer(out[0]) + int64(i)}, row, b.found[i], codeNew)
		}
		return nil
	case len(out) != 3*len(b.rows):
		return fmt.Errorf("script answered %d values for %d rows", len(out), len(b.rows))
	}
	for i, row := range b.rows {
		t, code := Task{Run: e.m.ID, Index: integer(out[3*i]), Gen: int(integer(out[3*i+1]))}, integer(out[3*i+2])
		if e.o.Update {
			code = e.knows(t.Index, i, code)
		}
		e.count(t, row, b.found[i], code)
	}
	return nil
}

// Codes of add.lua that are asked about by name.
const (
	codeNew      = 1
	codeFinished = 2 // new, or back after it had left, and finished
	codeKnown    = 3
	codeQueued   = 4
	codeOther    = 4 // what is added to the two for a row that had other fields
)

// knows notes a row that the run has and gives its code without its fields.
func (e *enqueuer) knows(index int64, place int, code int64) int64 {
	moved := code >= codeKnown+codeOther
	if moved {
		code -= codeOther
	}
	if ended := code == codeKnown || code == codeFinished; ended || moved {
		e.known = append(e.known, knownRow{index, place, moved, ended})
	}
	return code
}

// count books what the ledger said of one row (codes of add.lua).
func (e *enqueuer) count(t Task, row string, found uint32, code int64) {
	if e.o.Update {
		e.touched.add(t.Index)
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
	case codeNew, codeFinished:
		e.report.New++
		if code == codeFinished {
			e.report.Taken++
		}
		if e.mends {
			e.mended = append(e.mended, t.Index)
		}
	case 5, 6:
		e.report.Changed++
	default:
		if e.report.Known++; len(e.report.KnownRows) < MaxProblems {
			e.report.KnownRows = append(e.report.KnownRows, row)
		}
	}
}
