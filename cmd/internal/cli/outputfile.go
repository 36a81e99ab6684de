package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// outputFile is a file that a command writes as a whole: beside its place until keep,
// so that nobody reads half of it. What a link names is written, not the link; a device
// or a pipe cannot be replaced and is written to as it is.
type outputFile struct {
	*os.File
	target string // "" where it is written to as it is
}

// createOutput begins one at a path.
func createOutput(path string) (*outputFile, error) {
	target, regular := fileBehind(path)
	if !regular {
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		return &outputFile{File: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(target), ".nightshift-*")
	if err != nil {
		return nil, noPlace(path, filepath.Dir(target), err)
	}
	return &outputFile{f, target}, nil
}

// noPlace says of a file that cannot be begun what the user named.
func noPlace(path, dir string, err error) error {
	var fault *os.PathError
	switch st, statErr := os.Stat(dir); {
	case os.IsNotExist(statErr):
		return &noFolderError{path, dir}
	case statErr == nil && !st.IsDir():
		return fmt.Errorf("%s: %s is no folder", path, dir)
	case errors.As(err, &fault):
		return fmt.Errorf("%s: %w", path, fault.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// noFolderError is a file that was named in a folder that is not there.
type noFolderError struct{ path, dir string }

func (e *noFolderError) Error() string {
	return fmt.Sprintf("%s: there is no folder %s; make it first", e.path, e.dir)
}

// end puts the file at its place, unless what wrote it failed: then what was there
// stays.
func (o *outputFile) end(err error) error {
	if o.target == "" {
		return firstError(err, o.Close())
	}
	defer func() { _ = os.Remove(o.Name()) }() // gone already when it was renamed
	if err = firstError(err, o.Chmod(modeOf(o.target)), o.Sync(), o.Close()); err != nil {
		return err
	}
	return os.Rename(o.Name(), o.target)
}

// modeOf keeps who may read a file that is replaced.
func modeOf(path string) os.FileMode {
	if st, err := os.Stat(path); err == nil {
		return st.Mode().Perm()
	}
	return 0o644
}

// mostLinks is how many links one behind the other are followed, as the system does.
const mostLinks = 40

// fileBehind follows links to what a path means, also to what is not there yet, and
// tells whether it may be replaced: a device or a pipe is written to instead.
func fileBehind(path string) (target string, regular bool) {
	for range mostLinks {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	st, err := os.Stat(path)
	return path, err != nil || st.Mode().IsRegular()
}
