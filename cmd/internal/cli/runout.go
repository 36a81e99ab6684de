package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"nightshift/jobs"
)

// runOut is where the results of a `run` go. CSV has its columns when all rows are
// known, so that answers are kept as JSONL beside it, from which the run goes on.
type runOut struct {
	out   string // what the person asked for
	lines string // where answers are appended as they come
}

func outOf(out string) runOut {
	if strings.EqualFold(filepath.Ext(out), ".csv") {
		return runOut{out: out, lines: out + ".jsonl"}
	}
	return runOut{out: out, lines: out}
}

func (r runOut) csv() bool { return r.out != r.lines }

// check refuses to replace, hours later, a CSV file that no earlier run of this made.
func (r runOut) check(inputs []string) error {
	if !r.csv() {
		return nil
	}
	there, err := os.Stat(r.out)
	if err != nil {
		return nil // to be made; if it cannot be, the lines beside it cannot either
	}
	for _, in := range inputs {
		if st, err := os.Stat(in); err == nil && os.SameFile(st, there) {
			return usageErrorf("-o %s is the input: give the results another name", r.out)
		}
	}
	if _, err := os.Stat(r.lines); err != nil {
		return usageErrorf("-o %s: the file is there and is not of an earlier run (that would have left %s beside it): give another name, or move it away", r.out, r.lines)
	}
	return nil
}

// write makes the CSV file of what there is, in the input's order.
func (r runOut) write(ctx context.Context, s *streams, p *jobs.Prepared) error {
	if !r.csv() {
		return nil
	}
	l, err := jobs.OpenResultLines(r.lines)
	if err != nil {
		return fmt.Errorf("%s: %w", r.out, err)
	}
	defer func() { _ = l.Close() }() // it was only read
	if err := l.Arrange(ctx, p); err != nil {
		return fmt.Errorf("%s: %w; the results are in %s", r.out, err, r.lines)
	}
	x := &export{lines: l.Each, spec: p.Spec, csv: true}
	kept := fmt.Sprintf("the results are in %s: `nightshift results --from %s -o %s` writes them once the file can be written", r.lines, shellWord(r.lines), shellWord(r.out))
	return resultsFile{what: r.out, kept: kept}.write(s, r.out, x.to)
}
