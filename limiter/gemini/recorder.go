package gemini

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of a Recorder.
const (
	DefaultKeep     = 48 * time.Hour
	DefaultMaxBytes = 4 << 30
)

// RecorderOptions has the rarer settings of a Recorder; zero fields take the defaults.
type RecorderOptions struct {
	MaxBytes int64            // of all files in the folder; the oldest go first
	Queue    int              // records that wait for the disk; default 8192
	Patience time.Duration    // how long a call waits for room in the queue; default 50 ms
	Logger   *slog.Logger     // nil means none
	Now      func() time.Time // nil means time.Now
}

// Recorder writes call records as JSON lines to files of an hour each, named
// calls-<UTC hour>-<process>.jsonl, so that processes may share a folder. Put
// never holds a call up for long, Close loses nothing that Put has taken.
type Recorder struct {
	dir   string
	keep  time.Duration
	opts  RecorderOptions
	queue chan Record
	done  chan struct{} // closed when the writer has ended

	mu      sync.RWMutex // held for reading by Put, for writing by Close
	closed  bool         // guarded by mu
	dropped atomic.Int64

	// Of the writer's goroutine alone.
	hour string
	file *os.File
	out  *bufio.Writer
	err  error
}

// NewRecorder writes to the folder, which is made if need be, and removes files
// older than keep (0 means DefaultKeep).
func NewRecorder(dir string, keep time.Duration) (*Recorder, error) {
	return RecorderOptions{}.Open(dir, keep)
}

// Open is NewRecorder with options.
func (o RecorderOptions) Open(dir string, keep time.Duration) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("call records: %w", err)
	}
	o.MaxBytes, o.Queue = cmp.Or(o.MaxBytes, DefaultMaxBytes), cmp.Or(o.Queue, 8192)
	o.Patience = cmp.Or(o.Patience, 50*time.Millisecond)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{dir: dir, keep: cmp.Or(keep, DefaultKeep), opts: o, queue: make(chan Record, o.Queue), done: make(chan struct{})}
	if err := r.rotate(o.Now()); err != nil {
		return nil, fmt.Errorf("call records: %w", err)
	}
	go r.write()
	return r, nil
}

// Put takes a record. With the queue full it waits a moment for the disk, then
// drops the record and counts it: a slow disk must not stop calls.
func (r *Recorder) Put(rec Record) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		r.dropped.Add(1)
		return
	}
	select {
	case r.queue <- rec:
		return
	default:
	}
	timer := time.NewTimer(r.opts.Patience)
	defer timer.Stop()
	select {
	case r.queue <- rec:
	case <-timer.C:
		r.dropped.Add(1)
	}
}

// Dropped is how many records had no room or came after Close.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Close writes what was taken and closes the file. It gives the first error
// that writing met.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	<-r.done
	return r.err
}

// write is the one goroutine that has the file. It flushes whenever nothing
// more is waiting, so that a kill loses no more than what is in the queue.
func (r *Recorder) write() {
	defer close(r.done)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for rec := range r.queue {
		line.Reset()
		r.note(enc.Encode(rec))
		r.note(r.rotate(r.opts.Now()))
		_, err := r.out.Write(line.Bytes())
		r.note(err)
		if len(r.queue) == 0 {
			r.note(r.out.Flush())
		}
	}
	r.note(r.shut())
}

// note keeps and logs the first error.
func (r *Recorder) note(err error) {
	if err != nil && r.err == nil {
		r.err = err
		r.opts.Logger.Error("call records cannot be written", "folder", r.dir, "error", err)
	}
}

func (r *Recorder) shut() error {
	if r.file == nil {
		return nil
	}
	err := r.out.Flush()
	if e := r.file.Close(); err == nil {
		err = e
	}
	r.file = nil
	return err
}

// rotate opens the hour's file when another hour has come, and removes what is
// too old or too much.
func (r *Recorder) rotate(now time.Time) error {
	hour := now.UTC().Format("20060102T15")
	if hour == r.hour && r.file != nil {
		return nil
	}
	if err := r.shut(); err != nil {
		return err
	}
	name := filepath.Join(r.dir, fmt.Sprintf("calls-%s-%d.jsonl", hour, os.Getpid()))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r.hour, r.file, r.out = hour, file, bufio.NewWriterSize(file, 64<<10)
	r.prune(now)
	return nil
}

// prune removes the files whose hour ended before what is kept, then the oldest
// until the folder is within its bound. The hour being written always stays.
func (r *Recorder) prune(now time.Time) {
	files := recordFiles(r.dir)
	slices.Reverse(files) // newest first
	var sum int64
	for _, f := range files {
		sum += f.size
		old := f.hour.Add(time.Hour).Before(now.Add(-r.keep))
		if (old || sum > r.opts.MaxBytes) && f.name != r.file.Name() {
			_ = os.Remove(f.name) // another process may have been first
		}
	}
}
