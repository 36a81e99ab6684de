package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// Live is what is live now: rows of a file by the id that a run's rows have too.
type Live struct {
	Path    string
	Columns []string // in the order in which they were met
	Key     string   // the column with the id
	comma   rune     // 0: by the file's name
	rows    map[string][]byte
	lines   map[string]int
}

// ReadLive reads a live file: CSV, TSV, JSONL or a JSON array, as input is read. Key is
// the column with the ids; "" is "id". Its errors are *InputError where the file is to
// be mended.
func ReadLive(ctx context.Context, in Input, key string) (*Live, error) {
	if key == "" {
		key = "id"
	}
	l := &Live{Path: in.Path, Key: key, comma: in.Delimiter, rows: map[string][]byte{}, lines: map[string]int{}}
	files, err := in.open()
	if err != nil {
		return nil, err
	}
	p := &pass{spec: Spec{IDColumn: key}, in: in, src: files[0], problems: &problems{file: files[0].name}, room: in.maxBytes()}
	if err := l.read(ctx, p); err != nil {
		if err = p.fault(err); err != nil {
			return nil, err
		}
	}
	for i, bad := range p.problems.list.Problems {
		if strings.Contains(bad.Remedy, "--id-column") {
			p.problems.list.Problems[i].Remedy = "name another with --key; if line 1 is not a header, add one"
		}
	}
	return l, p.problems.err()
}

func (l *Live) read(ctx context.Context, p *pass) error {
	raw, err := p.src.raw()
	if err != nil {
		return err
	}
	defer raw.Close()
	if err := p.start(raw); err != nil || p.problems.list.Total > 0 {
		return err
	}
	columns := names{}
	for n := 0; ; n++ {
		rec, bad, err := p.rows.next()
		switch {
		case errors.Is(err, io.EOF):
			l.Columns = columns.list()
			return nil
		case err != nil:
			return err
		case bad != nil:
			p.problems.add(*bad)
			continue
		case n%256 == 0 && ctx.Err() != nil:
			return ctx.Err()
		}
		if err := l.add(p, rec, columns); err != nil {
			return err
		}
	}
}

func (l *Live) add(p *pass, rec record, columns names) (err error) {
	if p.members, err = members(rec.object, p.members[:0]); err != nil {
		return err
	}
	id := idIn(p.members, l.Key)
	if id == "" {
		p.problems.add(Problem{Line: rec.line, Field: l.Key, What: "the row has no such field, which is to identify it", Remedy: "add it, or name another with --key"})
		return nil
	}
	if was, ok := l.lines[id]; ok {
		p.problems.add(Problem{Line: rec.line, Row: id, Field: l.Key, What: fmt.Sprintf("the id is used in line %d too", was),
			Remedy: "each row of a live file needs an id of its own; --key names another column"})
		return nil
	}
	for _, m := range p.members {
		columns.add(m.name)
	}
	l.rows[id], l.lines[id] = bytes.Clone(rec.object), rec.line
	return nil
}

// idIn is the text of an object's key, as a run takes its rows' ids.
func idIn(ms []member, key string) string {
	for _, m := range ms {
		if m.name == key {
			id, _ := cellOf(m.raw)
			return id
		}
	}
	return ""
}

// Len is how many rows it has.
func (l *Live) Len() int { return len(l.rows) }

// Has says that the file has the row.
func (l *Live) Has(id string) bool { _, ok := l.rows[id]; return ok }

// Value is a row's value of a column as JSON, nil where it has none.
func (l *Live) Value(id, column string) []byte {
	ms, err := members(l.rows[id], nil)
	if err != nil || l.rows[id] == nil {
		return nil
	}
	for _, m := range ms {
		if m.name == column {
			return m.raw
		}
	}
	return nil
}

// WriteInto writes the live file to w with new values put in; everything else stays byte
// for byte. JSON objects get the keys that they lack; a CSV file gets no new columns. Of
// each value Done says whether it is in. A file that is compressed or not in UTF-8 is
// refused.
func (l *Live) WriteInto(w io.Writer, values []*Put) error {
	text, err := os.ReadFile(l.Path)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) || bytes.HasPrefix(text, zstdMagic) || bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return fmt.Errorf("%s is compressed or no UTF-8: values are put into plain UTF-8 files only", l.Path)
	}
	e := &liveEdit{live: l, w: w, values: map[string][]*Put{}}
	for _, p := range values {
		e.values[p.Row] = append(e.values[p.Row], p)
	}
	body := bytes.TrimPrefix(text, []byte("\ufeff"))
	e.put(text[:len(text)-len(body)])
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) > 0 && (first[0] == '{' || first[0] == '[') {
		e.json(body)
	} else {
		if l.comma > unicode.MaxASCII {
			return fmt.Errorf("%s: values are put between ASCII delimiters only, not %q", l.Path, l.comma)
		}
		e.csv(body, l.commaByte())
	}
	return e.err
}

func (l *Live) commaByte() byte {
	switch {
	case l.comma != 0:
		return byte(l.comma)
	case strings.HasSuffix(strings.ToLower(l.Path), ".tsv"):
		return '\t'
	}
	return ','
}

// Others is how many rows of the file are not among those seen, and the first of them.
func (l *Live) Others(seen map[string]bool) (n int64, first string) {
	line := 0
	for id, at := range l.lines {
		if seen[id] {
			continue
		}
		n++
		if line == 0 || at < line {
			line, first = at, id
		}
	}
	return n, first
}
