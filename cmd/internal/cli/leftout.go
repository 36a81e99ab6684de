package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
)

// leftShown is how many of the rows that were left out are said on the terminal.
const leftShown = 5

// leftOut collects the rows that --skip-invalid leaves out. nil: none may be.
type leftOut struct {
	path  string // where all of them go; "" nowhere
	file  *outputFile
	w     *bufio.Writer
	first []jobs.InvalidRow
	count int64
}

// leaveOut prepares for bad rows; nil without --skip-invalid. The file takes its
// place only once the input was read to its end.
func (o *inputFlags) leaveOut(inputs []string) (*leftOut, error) {
	switch {
	case !o.SkipInvalid && o.Invalid != "":
		return nil, usageErrorf("--invalid is where --skip-invalid puts bad rows: give both")
	case !o.SkipInvalid:
		return nil, nil
	case o.Invalid == "":
		return &leftOut{}, nil
	}
	if isInput(o.Invalid, inputs) {
		return nil, usageErrorf("--invalid %s is an input too: name another file, this one would be overwritten", o.Invalid)
	}
	if ext := strings.ToLower(filepath.Ext(o.Invalid)); slices.Contains([]string{".csv", ".tsv", ".json"}, ext) {
		return nil, usageErrorf("--invalid %s: bad rows are written as JSON lines, and a file is read by its name: give it one that ends in .jsonl", o.Invalid)
	}
	f, err := createOutput(o.Invalid)
	if err != nil {
		return nil, fmt.Errorf("--invalid: %w", err)
	}
	return &leftOut{path: o.Invalid, file: f, w: bufio.NewWriter(f)}, nil
}

// isInput says that path is one of the files that are read.
func isInput(path string, inputs []string) bool {
	out, err := os.Stat(path)
	if err != nil {
		return false
	}
	all, _ := jobs.ExpandPaths(inputs) // what it cannot read is said elsewhere
	for _, in := range all {
		if st, err := os.Stat(in); err == nil && os.SameFile(st, out) {
			return true
		}
	}
	return false
}

// tell is what Prepare calls for each bad row; nil where none may be left out.
func (l *leftOut) tell() func(jobs.InvalidRow) error {
	if l == nil {
		return nil
	}
	return l.add
}

func (l *leftOut) add(r jobs.InvalidRow) error {
	l.count++
	if len(l.first) < leftShown {
		shown := r
		shown.Row = nil // may be large
		l.first = append(l.first, shown)
	}
	if l.w == nil {
		return nil
	}
	enc := json.NewEncoder(l.w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// end keeps the file and says what was left out, unless the input was refused.
func (l *leftOut) end(f *factory, err error) error {
	if l == nil {
		return err
	}
	if l.file != nil {
		err = l.keep(err)
	}
	if err == nil && l.count > 0 {
		l.say(f)
	}
	return err
}

// keep moves the file to its place, or away.
func (l *leftOut) keep(err error) error {
	fault := l.file.end(firstError(err, l.w.Flush()))
	if err == nil && fault != nil {
		return fmt.Errorf("--invalid %s: %w", l.path, fault)
	}
	return err
}

func (l *leftOut) say(f *factory) {
	f.say("%s left out:", plural(int(l.count), "invalid row"))
	for _, r := range l.first {
		f.say("  %s", r)
	}
	if more := l.count - int64(len(l.first)); more > 0 {
		f.say("  and %s more", humanize.Comma(more))
	}
	if l.path == "" {
		f.say("  --invalid FILE writes all of them to a file, to be mended and given as INPUT")
		return
	}
	f.say("  all of them: %s; mend each \"row\" there and give that file as INPUT, with the same --name or -o", l.path)
}

// badRows is what enqueue says of rows that were left out.
func badRows(n int64) string {
	if n == 0 {
		return "0 bad"
	}
	return humanize.Comma(n) + " bad and left out"
}

// validRows is what plan says of them.
func validRows(bad int64) string {
	if bad == 0 {
		return ", all valid"
	}
	return " valid, " + humanize.Comma(bad) + " bad and left out"
}
