package jobs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// ResultLines are the lines of a file of results as `run` appends them, each row's
// last one, in the order of those lines. Close it.
type ResultLines struct {
	KeepID bool // the rows' own field "id" is not their id, or they have none
	Torn   bool // the last line is cut off: its writer was killed, or is writing now

	f    *os.File
	path string
	rows []resultLine
	ids  map[digest]int // of rows
}

// resultLine is where a row's line stands.
type resultLine struct {
	at   int64
	size int
	rank int64 // place in the input
}

// OpenResultLines reads where the lines are. The error names a line that is no result.
func OpenResultLines(path string) (*ResultLines, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &ResultLines{f: f, path: path, ids: map[digest]int{}}
	if err := l.read(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return l, nil
}

func (l *ResultLines) read() error {
	r := bufio.NewReaderSize(l.f, 256<<10)
	at := int64(0)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 && !l.note(text, at) {
			if err == nil || n == 1 {
				return fmt.Errorf("%s: line %d is not a result: give a file that run, or results, wrote as JSONL", l.path, n)
			}
			l.Torn = true
		}
		if err == io.EOF {
			l.last()
			return nil
		}
		at += int64(len(line))
	}
}

// note keeps where a row's line stands; an earlier one of it is forgotten.
func (l *ResultLines) note(text []byte, at int64) bool {
	var r struct {
		Row    string `json:"id"`
		Index  int64  `json:"n"`
		Status string `json:"status"`
		Fields struct {
			ID json.RawMessage `json:"id"`
		} `json:"fields"`
	}
	if json.Unmarshal(text, &r) != nil || r.Row == "" || r.Status == "" {
		return false
	}
	if id, err := cellOf(r.Fields.ID); err != nil || id != r.Row {
		l.KeepID = true
	}
	d := digestOf(r.Row)
	if i, ok := l.ids[d]; ok {
		l.rows[i].size = 0
	}
	l.ids[d] = len(l.rows)
	l.rows = append(l.rows, resultLine{at: at, size: len(text), rank: r.Index})
	return true
}

// last leaves each row its last line.
func (l *ResultLines) last() {
	if len(l.ids) == len(l.rows) {
		return
	}
	kept := l.rows[:0]
	moved := make(map[int]int, len(l.ids))
	for i, r := range l.rows {
		if r.size > 0 {
			moved[i] = len(kept)
			kept = append(kept, r)
		}
	}
	for d, i := range l.ids {
		l.ids[d] = moved[i]
	}
	l.rows = kept
}

// Arrange puts them in the order of the input; rows that it does not have come last,
// as they stand.
func (l *ResultLines) Arrange(ctx context.Context, p *Prepared) error {
	n := int64(0)
	for i := range l.rows {
		l.rows[i].rank = p.Rows
	}
	err := p.Each(ctx, func(r RenderedRow) error {
		if i, ok := l.ids[digestOf(r.ID)]; ok {
			l.rows[i].rank = n
		}
		n++
		return nil
	})
	l.sort()
	return err
}

// InputOrder puts them in the order of the input from which each was enqueued.
func (l *ResultLines) InputOrder() { l.sort() }

// sort ends what ids is good for.
func (l *ResultLines) sort() {
	slices.SortStableFunc(l.rows, func(a, b resultLine) int { return cmp.Compare(a.rank, b.rank) })
	l.ids = nil
}

// Each gives the lines, without their line feeds.
func (l *ResultLines) Each(fn func(line []byte) error) error {
	var buf []byte
	for _, r := range l.rows {
		buf = slices.Grow(buf[:0], r.size)[:r.size]
		if _, err := l.f.ReadAt(buf, r.at); err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
		if err := fn(buf); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (l *ResultLines) Close() error { return l.f.Close() }
