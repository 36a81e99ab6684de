package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// follower writes results as rows end. A line that is a row's last in the file is not written
// again, so that it goes on where an earlier one stopped.
type follower struct {
	be   *backend
	run  jobs.Run
	good bool
	out  io.Writer
	have map[lineDigest]lineDigest // by row, what its last line in the file is
	all  int64                     // lines in the file
	next int64                     // of the run's ends
	n    int64                     // lines written
}

// lineEnd tells a row's lines apart: one that was tried again has several, and so has
// one that an update gave other fields.
type lineEnd struct {
	Row      string          `json:"id"`
	Status   string          `json:"status"`
	Finished time.Time       `json:"finished_at"`
	Fields   json.RawMessage `json:"fields"`
}

// lineDigest stands for a row, or for one of its lines.
type lineDigest [16]byte

func (e lineEnd) row() lineDigest {
	sum := sha256.Sum256([]byte(e.Row))
	return lineDigest(sum[:16])
}

func (e lineEnd) key() lineDigest {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", e.Row, e.Status, e.Finished.UnixNano(), e.Fields))
	return lineDigest(sum[:16])
}

func (o *resultsOptions) follow(ctx context.Context, be *backend, run jobs.Run) error {
	w := &follower{be: be, run: run, good: o.Good, out: o.streams.Out, have: map[lineDigest]lineDigest{}}
	if o.Out != "-" {
		f, err := w.open(o.Out)
		if err != nil {
			return o.file().fault(err)
		}
		defer f.Close()
		if w.all > 0 {
			o.say("%s has %s results; going on after them", o.Out, humanize.Comma(w.all))
		}
	}
	if err := w.until(ctx, o.streams, cmp.Or(o.every, time.Second)); err != nil {
		return err
	}
	if o.Out != "-" {
		o.say("%s results in %s", humanize.Comma(w.all+w.n), o.Out)
	}
	return nil
}

// open reads what the file has, cuts off a line that was torn when its writer was
// killed, and goes on behind the last whole one.
func (w *follower) open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	w.out = f
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return f, err
	}
	size, err := w.read(f, path)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
	}
	return f, err
}

// read gives how far the file is good.
func (w *follower) read(f io.Reader, path string) (size int64, err error) {
	r := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil // what has no line feed was torn
		}
		if err != nil {
			return size, err
		}
		var e lineEnd
		if err := json.Unmarshal(line, &e); err != nil || e.Row == "" {
			return size, fmt.Errorf("%s: line %d is no result of a run: --follow goes on with its own file only, -o NEW begins another", path, n)
		}
		w.have[e.row()] = e.key()
		w.all++
		size += int64(len(line))
	}
}

// until follows until the run has ended. That Redis is away for a while is said once.
func (w *follower) until(ctx context.Context, s *streams, every time.Duration) error {
	away := false
	for {
		ended, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return &codedError{code: exitInterrupted}
		case err == nil && ended:
			return nil
		case err != nil && !passes(err):
			return err
		case err != nil && !away:
			s.say("Redis does not answer (%v); going on when it does", err)
		case err == nil && away:
			s.say("Redis is back")
		}
		away = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// passes tells trouble on the way to Redis from what cannot pass: a file that
// cannot be written, a run that is gone, files of results that are elsewhere.
func passes(err error) bool {
	var elsewhere *jobs.DrainedElsewhereError
	var write *followWriteError
	return !errors.As(err, &write) && !errors.As(err, &elsewhere) && !errors.Is(err, jobs.ErrNoRun)
}

// followWriteError says that the file cannot be written.
type followWriteError struct{ err error }

func (e *followWriteError) Error() string {
	return fmt.Sprintf("results: %v; the results are still in Redis: the same command goes on after what the file has", e.err)
}

func (e *followWriteError) Unwrap() error { return e.err }

// look writes what has ended since the last look, in the order it ended. The counters
// are read before the ends: rows that end between the two come with the next look.
func (w *follower) look(ctx context.Context) (ended bool, err error) {
	counts, err := w.be.store.Counts(ctx, w.run.ID)
	if err != nil {
		return false, err
	}
	if w.next, err = w.be.store.EndedLines(ctx, w.run.ID, w.next, w.put); err != nil {
		return false, err
	}
	if counts.Open() > 0 {
		return false, nil
	}
	if counts.Total() == 0 {
		return false, jobs.ErrNoRun
	}
	// Rows that were cancelled before anybody looked at them are in no order.
	rest := jobs.ResultsOptions{States: []jobs.State{jobs.Cancelled}}
	return true, w.be.store.ResultLines(ctx, w.run.ID, rest, w.put)
}

func (w *follower) put(line []byte) error {
	var e lineEnd
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if last, ok := w.have[e.row()]; ok && last == e.key() || w.good && !jobs.ParseState(e.Status).Good() {
		return nil
	}
	// One write a line: a kill tears the last line at most.
	if _, err := w.out.Write(append(bytes.Clone(line), '\n')); err != nil {
		return &followWriteError{err}
	}
	w.have[e.row()] = e.key()
	w.n++
	return nil
}
