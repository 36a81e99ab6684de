package jobs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"
)

// Input is where rows come from.
type Input struct {
	Path      string    // a file; "-" reads Stdin
	Stdin     io.Reader // what "-" reads; a terminal is refused
	Format    string    // "csv", "tsv" or "jsonl"; empty goes by the name, then by the first character
	Delimiter rune      // of CSV; 0 is ',' (tab for TSV)
	Encoding  string    // "" is UTF-8 (or UTF-16 with its byte order mark); else cp932, euc-jp, gbk, euc-kr, latin1, windows-1252, utf-16, …
	MaxRecord int       // bytes of one record, 16 MiB when 0
	MaxBytes  int64     // bytes of the whole input once inflated, 64 GiB when 0
	TempDir   string    // where what cannot be read twice is kept; empty is the system's
}

const (
	defaultMaxRecord = 16 << 20
	defaultMaxBytes  = 64 << 30
)

func (in Input) maxRecord() int  { return cmp.Or(in.MaxRecord, defaultMaxRecord) }
func (in Input) maxBytes() int64 { return cmp.Or(in.MaxBytes, defaultMaxBytes) }

// source is an input that can be read from its beginning again and again.
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

var errChanged = &Problem{What: "the file was changed while it was being read", Remedy: "run the command again once nobody writes to it"}

// open finds the input. Its errors are *Problem where the user can mend them.
func (in Input) open() (*source, error) {
	if in.Path == "" || in.Path == "-" {
		return in.openStdin()
	}
	st, err := os.Stat(in.Path)
	if err != nil {
		return nil, pathProblem(in.Path, err)
	}
	switch {
	case st.IsDir():
		return nil, &Problem{File: in.Path, What: "is a folder", Remedy: "name one file"}
	case !st.Mode().IsRegular():
		return in.openPipe()
	}
	return &source{name: in.Path, path: in.Path, stamp: stamp{st.Size(), st.ModTime()}}, nil
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
// this process ends.
func (in Input) keep(name, path string, r io.Reader) (*source, error) {
	f, err := os.CreateTemp(in.TempDir, "nightshift-input-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	n, err := io.Copy(f, io.LimitReader(r, in.maxBytes()))
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &source{name: name, path: path, spool: f, stamp: stamp{size: n}}, nil
}

// raw reads the input's bytes from the beginning.
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
		return errChanged
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
	for _, z := range []string{".gz", ".gzip", ".zst"} {
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
