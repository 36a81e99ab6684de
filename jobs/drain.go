package jobs

import (
	"context"
	"errors"
	"fmt"
)

// DrainReport says what a drain did.
type DrainReport struct {
	Dir   string // of the run: it has part-00001.jsonl.gz and on, and manifest.json
	Rows  int64  // results that were written, or written anew
	Parts int    // files that were written
	Bytes int64  // their size
}

// DrainedElsewhereError says that results are in a directory that this process
// does not see.
type DrainedElsewhereError struct {
	Run  string
	Dir  string // of the run, as its host names it
	Host string
}

func (e *DrainedElsewhereError) Error() string {
	return fmt.Sprintf("results of run %s are in %s on host %s, which this process does not see: run this there, or make that directory visible here", e.Run, e.Dir, e.Host)
}

// Drain writes a run's results to files under dir.
func (s *Store) Drain(_ context.Context, _, _ string) (DrainReport, error) {
	return DrainReport{}, errors.ErrUnsupported
}

// Trim removes results from Redis that Drain has written to files, and says how
// many bytes that were. The ledger stays.
func (s *Store) Trim(_ context.Context, _ string) (int64, error) { return 0, errors.ErrUnsupported }
