package cli

import (
	"bufio"
	"fmt"
	"os"

	"nightshift/jobs"
)

// gather puts the lines of each input row together, by way of a file that is gone with
// its end: outputs that --update added are far from the others of their row.
func gather(lines lineSource, join *jobs.Join) (*jobs.ResultLines, error) {
	f, err := os.CreateTemp("", "nightshift-join-*")
	if err != nil {
		return nil, fmt.Errorf("--join: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it stays readable while it is open
	w := bufio.NewWriterSize(f, 256<<10)
	err = lines(func(line []byte) error {
		_, err := w.Write(line)
		return firstError(err, w.WriteByte('\n'))
	})
	if err = firstError(err, w.Flush(), f.Close()); err != nil {
		return nil, fmt.Errorf("--join: %w", err)
	}
	l, err := jobs.OpenResultLines(f.Name())
	if err != nil {
		return nil, err
	}
	if err := l.Gather(join); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}
