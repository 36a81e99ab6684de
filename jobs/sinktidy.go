package jobs

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Tidy leaves each row one line, its last, in the order of those lines: a row
// that failed and was tried again has had several. It writes a file beside and
// renames it, so that at any moment the path has all that it had. Call it when
// nothing is put any more; after it only Close may follow. Standard output,
// devices and a file that could not be written are left alone.
func (f *FileSink) Tidy() error {
	if !f.untidy() {
		return nil
	}
	last, err := f.lastLines()
	if err != nil {
		return err
	}
	// Through a symbolic link: its target is what is replaced.
	target, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return err
	}
	if err := f.replace(target, last); err != nil {
		return err
	}
	f.tidied = true
	return nil
}

func (f *FileSink) untidy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.double && f.broken == nil && f.regular && f.current()
}

// current says that the path still names the file that is open.
func (f *FileSink) current() bool {
	if f.file == nil {
		return false
	}
	open, err1 := f.file.Stat()
	now, err2 := os.Stat(f.path)
	return err1 == nil && err2 == nil && os.SameFile(open, now)
}

// replace puts a copy with those lines only in the place of target.
func (f *FileSink) replace(target string, last map[digest]int64) error {
	st, err := f.file.Stat()
	if err != nil {
		return err
	}
	tmp, err := besideFile(target)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when it was renamed
	w := bufio.NewWriterSize(tmp, 256<<10)
	err = f.eachLine(func(at int64, id digest, line []byte) error {
		if last[id] != at {
			return nil
		}
		_, err := w.Write(line)
		return err
	})
	err = errors.Join(err, w.Flush(), tmp.Chmod(st.Mode().Perm()), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), target)
}

// besideFile is always of the same name, so that what a killed process left of
// it does not stay: the lock on the target lets one process at a time be here.
func besideFile(target string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".tidy")
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// lastLines is where each row's last line begins.
func (f *FileSink) lastLines() (map[digest]int64, error) {
	last := map[digest]int64{}
	err := f.eachLine(func(at int64, id digest, _ []byte) error { last[id] = at; return nil })
	return last, err
}

// eachLine reads the results of the file that is open, with their line feeds.
func (f *FileSink) eachLine(fn func(at int64, id digest, line []byte) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(f.file, 0, f.size), 256<<10)
	for at := int64(0); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var res struct {
			Row string `json:"id"`
		}
		if json.Unmarshal(line, &res) == nil { // else it is blank
			if err := fn(at, digestOf(res.Row), line); err != nil {
				return err
			}
		}
		at += int64(len(line))
	}
}
