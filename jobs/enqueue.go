package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// EnqueueOptions are the choices of one enqueue.
type EnqueueOptions struct {
	// Update lets a run's rows change: rows whose key changed are made again,
	// rows that are no longer in the input leave the run.
	Update bool
	// Have says that the result of a row that would be enqueued exists already,
	// elsewhere: Done or Cached enters the row as that, without a task. None
	// enqueues it. FileSink.Have fits.
	Have     func(row, key string) State
	Progress func(done, total int64)
}

// EnqueueReport says what an enqueue did. New + Known + Changed are the input's
// rows.
type EnqueueReport struct {
	Run      Run
	Queue    string
	New      int64 // entered in the ledger, or back after they had left
	Known    int64 // were there already, unchanged
	Changed  int64 // enqueued again, since what makes their answer changed
	Removed  int64 // left the run: no longer in the input
	Repaired int64 // of Known: had lost their task (a crash while enqueueing) and got it back
	Taken    int64 // of New and Changed: entered as finished, by Have or by a result that was kept
}

// Enqueue records the run, enters its rows in the ledger and then puts their
// tasks on the queue, adding only what is missing. A run is known by its name;
// without one, by its settings and rows. After a crash or an error half-way the
// same call does the rest.
//
// The same name with other rows, templates or settings is a *ChangedError
// unless Update is set.
func (s *Store) Enqueue(ctx context.Context, p *Prepared, o EnqueueOptions) (EnqueueReport, error) {
	m, known, err := s.claim(ctx, p)
	if err != nil {
		return EnqueueReport{}, err
	}
	if known {
		if err := s.accept(ctx, m, p, o.Update); err != nil {
			return EnqueueReport{}, err
		}
	}
	now := s.now().UTC()
	if !known {
		m.Created, m.shards = now, shardsFor(p.Rows)
	}
	m.Spec, m.Input, m.Digest, m.inputs, m.Updated = p.Spec, p.Name, p.Digest, p.Inputs, now
	if o.Update {
		m.inputs = "" // until it is through: after a crash the difference is asked about again
	}
	if err := s.save(ctx, m); err != nil {
		return EnqueueReport{}, err
	}
	if err := s.rdb.SAdd(ctx, keyLanes, p.Spec.Lane).Err(); err != nil {
		return EnqueueReport{}, err
	}
	e := &enqueuer{s: s, m: m, o: o, total: p.Rows, tasks: s.newTaskWriter(queueOf(p.Spec)), touched: map[int64]uint64{}}
	return e.run(ctx, p)
}

// claim finds the run that p belongs to, or takes its name for a new one.
func (s *Store) claim(ctx context.Context, p *Prepared) (m meta, known bool, err error) {
	name := p.Spec.Name
	if name == "" {
		name = "=" + p.Digest + p.Inputs + queueOf(p.Spec)
	}
	if strings.HasPrefix(p.Spec.Name, "=") || strings.ContainsAny(p.Spec.Name, "\n\r\t") {
		return m, false, fmt.Errorf("a run's name may not begin with '=' or hold line breaks: %q", p.Spec.Name)
	}
	id := newRunID(s.now())
	ok, err := s.rdb.HSetNX(ctx, keyNames, name, id).Result()
	if err != nil {
		return m, false, err
	}
	if !ok {
		if id, err = s.rdb.HGet(ctx, keyNames, name).Result(); err != nil {
			return m, false, err
		}
	}
	m, err = s.meta(ctx, id)
	if errors.Is(err, ErrNoRun) { // new, or its first enqueue died before the record
		return meta{Run: Run{ID: id}}, false, nil
	}
	return m, err == nil, err
}

// enqueuer is one enqueue under way.
type enqueuer struct {
	s     *Store
	m     meta
	o     EnqueueOptions
	tasks *taskWriter
	total int64
	done  int64

	args    []any // of the ledger script: what all its calls begin with, then the batch
	rows    []string
	bytes   int
	report  EnqueueReport
	again   []bool           // whether a task that is being written may be there already
	touched map[int64]uint64 // rows seen, a bit each, for Update
}

// batchBytes bounds what one script holds up Redis with.
const batchBytes = 4 << 20

func (e *enqueuer) run(ctx context.Context, p *Prepared) (EnqueueReport, error) {
	update := "0"
	if e.o.Update {
		update = "1"
	}
	e.args = append(e.args, runPrefix(e.m.ID), update, e.m.shards)
	err := p.Each(ctx, func(row RenderedRow) error { return e.add(ctx, row) })
	if err == nil {
		err = e.flush(ctx)
	}
	if err == nil && e.o.Update {
		err = e.finishUpdate(ctx, p.Inputs)
	}
	if err != nil {
		return e.report, err
	}
	e.report.Run, err = e.s.Load(ctx, e.m.ID)
	e.report.Queue = e.tasks.queue
	return e.report, err
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
	fields := row.ID + "\x00" + string(row.Fields)
	e.args = append(e.args, ids, int(have), fields)
	e.rows = append(e.rows, row.ID)
	e.bytes += len(fields)
	if len(e.rows) < e.s.opts.Batch && e.bytes < batchBytes {
		return nil
	}
	return e.flush(ctx)
}

// idAndKey are a row's two digests, as the ledger's scripts take them.
func idAndKey(row RenderedRow) ([]byte, error) {
	id := digestOf(row.ID)
	b := make([]byte, 32)
	copy(b, id[:])
	_, err := hex.Decode(b[16:], []byte(row.Key))
	return b, err
}

// flush enters a batch in the ledger, then writes its tasks.
func (e *enqueuer) flush(ctx context.Context) error {
	if len(e.rows) == 0 {
		return nil
	}
	out, err := e.s.call(ctx, addScript, []string{runKey(e.m.ID), countKey(e.m.ID)}, e.args, 3*len(e.rows))
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	for i, row := range e.rows {
		e.count(Task{Run: e.m.ID, Index: integer(out[3*i]), Gen: int(integer(out[3*i+1]))}, row, integer(out[3*i+2]))
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
	e.done += int64(len(e.rows))
	e.args, e.rows, e.again, e.bytes = e.args[:3], e.rows[:0], e.again[:0], 0
	if e.o.Progress != nil {
		e.o.Progress(e.done, e.total)
	}
	return nil
}

// count books what the ledger said of one row (codes of add.lua).
func (e *enqueuer) count(t Task, row string, code int64) {
	if e.o.Update {
		e.touched[t.Index/64] |= 1 << (t.Index % 64)
	}
	switch code {
	case 1, 5:
		e.tasks.add(t, row)
		e.again = append(e.again, false)
	case 4:
		e.tasks.add(t, row)
		e.again = append(e.again, true)
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
		e.report.Known++
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
	return n, err
}
