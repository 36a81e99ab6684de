package jobs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"
)

// source is a file that can be read from its beginning again and again.
type source struct {
	name  string // for people
	path  string // tells the format; "" for standard input
	spool *os.File
	stamp stamp
}

// stamp tells whether a file is what it was.
type stamp struct {
	size int64
	mod  time.Time
}

func pathProblem(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{File: path, What: "no such file"}
	case errors.Is(err, fs.ErrPermission):
		return &Problem{File: path, What: "may not be read by this user"}
	}
	return err
}

func (in Input) openStdin() (*source, error) {
	f, isFile := in.Stdin.(*os.File)
	if in.Stdin == nil || isFile && term.IsTerminal(int(f.Fd())) {
		return nil, &Problem{File: "standard input", What: "is a terminal, not rows", Remedy: "pipe a file in (… | nightshift run -) or name one"}
	}
	return in.keep("standard input", "", in.Stdin)
}

// openPipe reads a named pipe or a device: they can be read only once.
func (in Input) openPipe() (*source, error) {
	f, err := os.Open(in.Path)
	if err != nil {
		return nil, pathProblem(in.Path, err)
	}
	defer f.Close()
	return in.keep(in.Path, in.Path, f)
}

// keep copies r to a file without a name, so that nothing stays behind however
// this process ends. A byte more than may be read tells that there is more.
func (in Input) keep(name, path string, r io.Reader) (*source, error) {
	f, err := os.CreateTemp(in.TempDir, "nightshift-input-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	n, err := in.spool(f, r)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	if n > in.maxBytes() {
		_ = f.Close()
		p := tooLarge(in.maxBytes())
		p.File = name
		return nil, p
	}
	return &source{name: name, path: path, spool: f, stamp: stamp{size: n}}, nil
}

// raw reads the file's bytes from the beginning.
func (s *source) raw() (io.ReadCloser, error) {
	if s.spool != nil {
		return io.NopCloser(io.NewSectionReader(s.spool, 0, s.stamp.size)), nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, pathProblem(s.path, err)
	}
	return f, nil
}

// unchanged refuses a file that is no longer what was checked.
func (s *source) unchanged() error {
	if s.spool != nil {
		return nil
	}
	st, err := os.Stat(s.path)
	if err != nil {
		return pathProblem(s.path, err)
	}
	if st.Size() != s.stamp.size || !st.ModTime().Equal(s.stamp.mod) {
		return &Problem{File: s.name, What: "the file was changed while it was being read", Remedy: "run the command again once nobody writes to it"}
	}
	return nil
}

func (s *source) close() error {
	if s.spool == nil {
		return nil
	}
	return s.spool.Close()
}

// format goes by the name without .gz or .zst; "" when that tells nothing.
func (s *source) format() string {
	name := strings.ToLower(s.path)
	for _, z := range []string{".gz", ".gzip", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, z)
	}
	switch filepath.Ext(name) {
	case ".csv":
		return "csv"
	case ".tsv", ".tab":
		return "tsv"
	case ".jsonl", ".ndjson", ".json":
		return "jsonl"
	}
	return ""
}
