package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// resultsFile is how a file of results comes into being: beside its place, so that
// nobody ever reads half of it.
type resultsFile struct {
	what string // in errors
	kept string // what to say of the results when the file cannot be written
}

// write gives fn what to write to, and puts it at out when all is written; "-" is
// standard output.
func (r resultsFile) write(s *streams, out string, fn func(io.Writer) error) error {
	if out == "-" {
		return r.fault(fn(s.Out))
	}
	target, regular := fileBehind(out)
	if !regular {
		return r.through(target, fn)
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), ".nightshift-*")
	if err != nil {
		return r.fault(err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when it was renamed
	err = firstError(fn(tmp), tmp.Chmod(modeOf(target)), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	return r.fault(err)
}

// through writes to something that is there and is no plain file.
func (r resultsFile) through(path string, fn func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return r.fault(err)
	}
	return r.fault(firstError(fn(f), f.Close()))
}

func (r resultsFile) fault(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w; %s", r.what, err, r.kept)
}

// modeOf keeps who may read a file that is replaced.
func modeOf(path string) os.FileMode {
	if st, err := os.Stat(path); err == nil {
		return st.Mode().Perm()
	}
	return 0o644
}

// fileBehind follows links to what a path means, and tells whether it may be
// replaced: a device or a pipe is written to instead.
func fileBehind(path string) (target string, regular bool) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	st, err := os.Stat(path)
	return path, err != nil || st.Mode().IsRegular()
}
