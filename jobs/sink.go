package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Sink takes results as they come.
type Sink interface {
	Put(ctx context.Context, r Result) error
}

// FileSinkOptions are a results file's settings.
type FileSinkOptions struct {
	Fallback string    // folder that takes paid answers when the file cannot, best on another disk; empty keeps them in memory until Close
	Stdout   io.Writer // what "-" writes to; nil is os.Stdout
}

// FileSink appends results to a file, each synced before Put returns; results
// that come while a sync is under way share the next. Its zero value is not
// usable.
type FileSink struct {
	path     string
	out      io.Writer
	file     *os.File // nil for standard output
	regular  bool     // file is one: no pipe, no device
	fallback string
	have     map[string]saved // by row id
	spent    int64            // of what the file held, in micro-dollars

	mu      sync.Mutex
	added   map[digest]struct{} // row ids that were put
	double  bool                // a row has several lines
	tidied  bool                // the path has a tidier copy of the file by now
	size    int64               // of the file, as far as it is good
	next    *sinkBatch          // what the next write takes
	writing bool
	broken  *SinkError
	unkept  []byte // lines that are in no file
}

// sinkBatch is one write and sync, shared.
type sinkBatch struct {
	lines []byte
	n     int
	done  chan struct{}
	err   error
}

// SinkError says that a results file cannot be written: the run must stop.
type SinkError struct {
	Path   string
	Kept   string // file that has the answers that could not be written; empty: none has
	Unkept int    // answers that are in memory only
	Err    error
}

func (e *SinkError) Error() string {
	msg := fmt.Sprintf("%s cannot be written: %v", e.Path, e.Err)
	switch {
	case e.Unkept > 0:
		return fmt.Sprintf("%s (%d answers are in no file)", msg, e.Unkept)
	case e.Kept != "":
		return fmt.Sprintf("%s (answers that were paid for are kept in %s and are added when the file is opened next)", msg, e.Kept)
	}
	return msg
}

func (e *SinkError) Unwrap() error { return e.Err }

// Put appends one result; it is on disk when Put returns. After a *SinkError
// every later Put fails too, but its result is still kept where that can be.
func (f *FileSink) Put(_ context.Context, r Result) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	f.mu.Lock()
	f.note(r.Row)
	if f.next == nil {
		f.next = &sinkBatch{done: make(chan struct{})}
	}
	b := f.next
	b.lines = append(b.lines, line...)
	b.n++
	lead := !f.writing
	f.writing = true
	f.mu.Unlock()
	if lead {
		f.drain()
	}
	<-b.done
	return b.err
}

// drain writes until nothing waits.
func (f *FileSink) drain() {
	for {
		f.mu.Lock()
		b := f.next
		f.next = nil
		if b == nil {
			f.writing = false
			f.mu.Unlock()
			return
		}
		broken := f.broken
		f.mu.Unlock()
		b.err = f.write(b, broken)
		close(b.done)
	}
}

// write is called by one goroutine at a time.
func (f *FileSink) write(b *sinkBatch, broken *SinkError) error {
	cause := error(nil)
	if broken == nil {
		if cause = f.append(b.lines); cause == nil {
			return nil
		}
	} else {
		cause = broken.Err
	}
	e := &SinkError{Path: f.path, Err: cause}
	if kept, err := f.keep(b.lines); err == nil {
		e.Kept = kept
	} else {
		f.mu.Lock()
		f.unkept = append(f.unkept, b.lines...)
		e.Unkept = bytes.Count(f.unkept, []byte{'\n'})
		f.mu.Unlock()
	}
	f.mu.Lock()
	f.broken = e
	f.mu.Unlock()
	return e
}

// append writes and syncs; what a failed write left is cut off again.
func (f *FileSink) append(lines []byte) error {
	if _, err := f.out.Write(lines); err != nil {
		f.cutBack()
		return err
	}
	if f.file == nil {
		return nil
	}
	if err := f.file.Sync(); err != nil && !errors.Is(err, os.ErrInvalid) && !isNoSync(err) {
		f.cutBack()
		return err
	}
	f.size += int64(len(lines))
	return nil
}

func (f *FileSink) cutBack() {
	if f.file != nil {
		_ = f.file.Truncate(f.size)
		_, _ = f.file.Seek(f.size, io.SeekStart)
	}
}

// Close tries once more to write what is in no file yet, sees to it that the file
// still has its name, and gives it free.
func (f *FileSink) Close() error {
	f.mu.Lock()
	unkept := f.unkept
	f.unkept = nil
	f.mu.Unlock()
	var err error
	if len(unkept) > 0 {
		if err = f.append(unkept); err != nil {
			err = &SinkError{Path: f.path, Unkept: bytes.Count(unkept, []byte{'\n'}), Err: err}
		}
	}
	if f.file == nil {
		return err
	}
	return errors.Join(err, f.restore(), f.file.Close())
}
