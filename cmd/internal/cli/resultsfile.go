package cli

import (
	"errors"
	"fmt"
	"io"
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
	file, err := createOutput(out)
	if err != nil {
		return r.fault(err)
	}
	return r.fault(file.end(fn(file)))
}

func (r resultsFile) fault(err error) error {
	if err == nil {
		return nil
	}
	var noFolder *noFolderError
	if errors.As(err, &noFolder) { // a word that was mistyped: there is nothing to worry about
		return err
	}
	return fmt.Errorf("%s: %w; %s", r.what, err, r.kept)
}
