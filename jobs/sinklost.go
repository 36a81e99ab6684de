package jobs

import (
	"errors"
	"io"
	"os"
)

// restore looks whether the file still has its name. Whoever removed or moved it
// meanwhile did not mean the answers that came since: with the name free, the
// file is written anew; with another file in its place, its lines are kept in
// the fallback.
func (f *FileSink) restore() error {
	if !f.regular || f.tidied {
		return nil
	}
	mine, err := f.file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(f.path)
	switch {
	case err == nil && os.SameFile(mine, there):
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	lines, readErr := io.ReadAll(io.NewSectionReader(f.file, 0, f.size))
	if readErr != nil {
		return readErr
	}
	if errors.Is(err, os.ErrNotExist) {
		return writeAnew(f.path, lines)
	}
	e := &SinkError{Path: f.path, Err: errors.New("another file was put in its place")}
	if e.Kept, err = f.keep(lines); err != nil {
		return errors.Join(e, err)
	}
	return e
}

// writeAnew makes a file that is not there.
func writeAnew(path string, lines []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(lines)
	return errors.Join(err, file.Sync(), file.Close())
}
