package jobs

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenFileSink opens or creates a results file for one writer and reads what it
// has. A last line that is torn (the writer was killed) is cut off if it is no
// whole result; answers that an earlier run could not write are added. "-" is
// standard output.
func OpenFileSink(path string, o FileSinkOptions) (*FileSink, error) {
	f := &FileSink{path: path, fallback: o.Fallback, have: map[string]saved{}, added: map[digest]struct{}{}}
	if path == "-" {
		f.path, f.out = "standard output", o.Stdout
		if f.out == nil {
			f.out = os.Stdout
		}
		return f, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, &SinkError{Path: path, Err: err}
	}
	f.file, f.out = file, file
	if err := f.prepare(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return f, nil
}

func (f *FileSink) prepare() error {
	if err := lockFile(f.file); err != nil {
		return &SinkError{Path: f.path, Err: fmt.Errorf("another process writes to it: %w", err)}
	}
	if !f.current() {
		return &SinkError{Path: f.path, Err: errors.New("another process has just rewritten it: run the command again")}
	}
	if err := f.load(); err != nil {
		return &SinkError{Path: f.path, Err: err}
	}
	if err := f.takeKept(); err != nil {
		return &SinkError{Path: f.path, Kept: f.keptPath(), Err: err}
	}
	return nil
}

// load reads the file and repairs its end. Anything but results in it means
// that the path is wrong: it is left alone.
func (f *FileSink) load() error {
	st, err := f.file.Stat()
	if err != nil {
		return err
	}
	if f.regular = st.Mode().IsRegular(); !f.regular {
		return nil
	}
	r := bufio.NewReaderSize(f.file, 256<<10)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return f.repairTail(line)
		}
		if err != nil {
			return err
		}
		if len(line) > 1 && !f.learn(line) {
			return fmt.Errorf("line %d is not a result: is this the right file? Move it away or remove the line", n)
		}
		f.size += int64(len(line))
	}
}

// repairTail completes a whole last line and cuts off a torn one. The file's
// position is its end then.
func (f *FileSink) repairTail(tail []byte) error {
	if len(tail) > 0 && f.learn(tail) {
		if _, err := f.file.WriteAt([]byte{'\n'}, f.size+int64(len(tail))); err != nil {
			return err
		}
		f.size += int64(len(tail)) + 1
	} else if len(tail) > 0 {
		if f.size == 0 && tail[0] != '{' {
			return errors.New("it holds something else than results: is this the right file?")
		}
		if err := f.file.Truncate(f.size); err != nil {
			return err
		}
	}
	_, err := f.file.Seek(f.size, io.SeekStart)
	return err
}

// keptPath is where answers go that the file refused.
func (f *FileSink) keptPath() string {
	if f.fallback == "" || f.file == nil {
		return ""
	}
	abs, err := filepath.Abs(f.path)
	if err != nil {
		abs = f.path
	}
	d := digestOf(abs)
	return filepath.Join(f.fallback, filepath.Base(f.path)+"."+hex.EncodeToString(d[:6])+".unwritten.jsonl")
}

// keep appends lines to the fallback.
func (f *FileSink) keep(lines []byte) (string, error) {
	path := f.keptPath()
	if path == "" {
		return "", errors.New("no fallback")
	}
	if err := os.MkdirAll(f.fallback, 0o700); err != nil {
		return "", err
	}
	k, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	_, err = k.Write(lines)
	return path, errors.Join(err, k.Sync(), k.Close())
}

// takeKept adds what an earlier run could not write. Lines that are in the file
// already (that run was killed between the two steps) are harmless: the last
// line of a row counts.
func (f *FileSink) takeKept() error {
	path := f.keptPath()
	if path == "" {
		return nil
	}
	k, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer k.Close()
	r := bufio.NewReader(k)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF { // a torn line was not synced
			return os.Remove(path)
		}
		if err != nil {
			return err
		}
		if !f.learn(line) {
			continue
		}
		if err := f.append(line); err != nil {
			return err
		}
	}
}
