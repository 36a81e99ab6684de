package jobs

import (
	"context"
	"errors"
)

// EnqueueOptions are the choices of one enqueue.
type EnqueueOptions struct {
	// Update lets a run's rows change: rows whose key changed are made again,
	// rows that are no longer in the input leave the run, and fields that are part of
	// no key are those of this input, without a call.
	Update bool
	// Have says that the result of a row that would be enqueued exists already,
	// elsewhere: Done or Cached enters the row as that, without a task. None
	// enqueues it. FileSink.Have fits.
	Have func(row, key string) State
	// Claimed is called when the run is recorded and before any of its rows can
	// begin, so that what bounds them is in force. Its error ends the enqueue.
	Claimed func(context.Context, Run) error
	// Reuse is what LookUp found for this input: these rows become Cached without
	// a call. Nil asks for every row that is new or changed.
	Reuse *Lookup
	// Reused is told of the results that were taken over, before the ledger is; its
	// error ends the enqueue. May be nil.
	Reused   func(context.Context, []Result) error
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
	Stayed   int64 // with Update: in the run, and bad and left out in this input: they stay as they are
	Repaired int64 // of Known: had lost their task (a crash while enqueueing) and got it back
	Reused   int64 // became Cached by EnqueueOptions.Reuse: of New and Changed, and of Known rows that were still queued
	Taken    int64 // of New and Changed: entered as finished, by Have or by a result that was kept

	OtherFields       int64 // with Update, of rows asked as before: had other fields, and have those of this input, in their results too
	OtherFieldsUnseen int64 // with Update: finished rows whose results are in files of another host, so that nobody knows

	KnownRows []string // ids of the first MaxProblems of Known
}

// Enqueue records the run, enters its rows in the ledger and then puts their
// tasks on the queue, adding only what is missing. A run is known by its name;
// without one, by its settings and rows. After a crash or an error half-way the
// same call does the rest.
//
// The same name with other rows, templates or settings is a *ChangedError
// unless Update is set. Rows that were left out of it (PrepareOptions.Invalid) may
// come later: in the input that they were left out of, or in a file of InvalidRow,
// which leaves the run's other rows alone.
func (s *Store) Enqueue(ctx context.Context, p *Prepared, o EnqueueOptions) (EnqueueReport, error) {
	m, known, err := s.claim(ctx, p)
	if err != nil {
		return EnqueueReport{}, err
	}
	if known {
		if err := s.accept(ctx, &m, p, o.Update); err != nil {
			return EnqueueReport{}, err
		}
	}
	now := s.now().UTC()
	if !known {
		m.Created, m.shards = now, shardsFor(p.Rows)
	}
	was := m.Run
	m.Spec = p.Spec
	m.enqueuedOver(was, now)
	m.Digest, m.Updated = p.Digest, now
	if !known || !p.Mended && !m.kept {
		m.Input, m.LeftOut, m.LeftIn, m.inputs = p.Name, p.LeftOut, p.LeftIn, p.Inputs
	}
	if o.Update {
		m.inputs = "" // until it is through: after a crash the difference is asked about again
	}
	if err := s.save(ctx, m); err != nil {
		return EnqueueReport{}, err
	}
	if o.Claimed != nil {
		if err := o.Claimed(ctx, m.Run); err != nil {
			return EnqueueReport{}, err
		}
	}
	if err := s.rdb.SAdd(ctx, keyLanes, p.Spec.Lane).Err(); err != nil {
		return EnqueueReport{}, err
	}
	e := &enqueuer{s: s, m: m, o: o, results: s.stored(m), total: p.Rows, files: p.files, out: make(chan *batch, 2), tasks: s.newTaskWriter(queueOf(p.Spec)), touched: rowSet{}, mends: p.Mended}
	e.results.passing = true
	defer e.results.close()
	return e.run(ctx, p)
}

// claim finds the run that p belongs to, or takes its name for a new one.
func (s *Store) claim(ctx context.Context, p *Prepared) (m meta, known bool, err error) {
	name := p.runName()
	if err := CheckName(p.Spec.Name); err != nil {
		return m, false, err
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
