package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
)

// Input is where rows come from.
type Input struct {
	Path      string    // a file; "-" reads Stdin
	Paths     []string  // several files, which are read as if they were one; instead of Path
	Stdin     io.Reader // what "-" reads; a terminal is refused
	Format    string    // one of Formats; empty goes by the name and the first characters
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

// open finds the input's files. Its error is an *InputError where the user can mend it.
func (in Input) open() (sources, error) {
	paths := in.Paths
	if len(paths) == 0 {
		paths = []string{in.Path}
	}
	var out sources
	bad := &problems{}
	for _, path := range paths {
		one := in
		one.Path = path
		src, err := one.source()
		var p *Problem
		switch {
		case errors.As(err, &p):
			bad.list.Total++
			bad.list.Problems = append(bad.list.Problems, *p)
		case err != nil:
			return nil, errors.Join(err, out.close())
		default:
			out = append(out, src)
		}
	}
	if err := bad.err(); err != nil {
		_ = out.close()
		return nil, err
	}
	return out, nil
}

// sources are the files of one input, in their order.
type sources []*source

// name is what people call all of them together.
func (ss sources) name() string {
	switch len(ss) {
	case 1:
		return ss[0].name
	case 2:
		return ss[0].name + ", " + ss[1].name
	}
	return fmt.Sprintf("%s and %d more files", ss[0].name, len(ss)-1)
}

func (ss sources) unchanged() error {
	for _, s := range ss {
		if err := s.unchanged(); err != nil {
			return err
		}
	}
	return nil
}

func (ss sources) close() error {
	var err error
	for _, s := range ss {
		err = errors.Join(err, s.close())
	}
	return err
}

// source finds one file.
func (in Input) source() (*source, error) {
	if in.Path == "" || in.Path == "-" {
		return in.openStdin()
	}
	st, err := os.Stat(in.Path)
	if err != nil {
		return nil, pathProblem(in.Path, err)
	}
	switch {
	case st.IsDir():
		return nil, &Problem{File: in.Path, What: "is a folder", Remedy: "name its files, for example " + folderPattern(in.Path)}
	case !st.Mode().IsRegular():
		return in.openPipe()
	}
	return &source{name: in.Path, path: in.Path, stamp: stamp{st.Size(), st.ModTime()}}, nil
}
