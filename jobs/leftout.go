package jobs

import (
	"encoding/json"
	"sort"
)

// InvalidRow is a row that was left out of a run, as it stands in the file of such
// rows: Row is to be mended there, and the file is an input then.
type InvalidRow struct {
	File    string          `json:"file"`
	Line    int             `json:"line"`
	Element int             `json:"element,omitempty"` // of a JSON array, from 1
	Column  int             `json:"column,omitempty"`  // in characters
	ID      string          `json:"id,omitempty"`
	Field   string          `json:"field,omitempty"`
	Problem string          `json:"problem"`
	Remedy  string          `json:"remedy,omitempty"`
	Columns []string        `json:"columns,omitempty"` // of CSV, where Row is a text
	Row     json.RawMessage `json:"row"`               // the object; its text where it is none; null where it was too large
}

// leftOut are the rows that are left out because they are bad. nil: none may be.
type leftOut struct {
	numbers []int                  // of the rows, ascending
	ids     []digest               // of those that have one, in a run
	tell    func(InvalidRow) error // nil once they are known
}

// has says that a row was left out, to a pass that comes later.
func (l *leftOut) has(number int) bool {
	if l == nil || l.tell != nil {
		return false
	}
	i := sort.SearchInts(l.numbers, number)
	return i < len(l.numbers) && l.numbers[i] == number
}

// digests are of the ids that rows which were left out would have in a run.
func (l *leftOut) digests() []digest {
	if l == nil {
		return nil
	}
	return l.ids
}

// count is how many rows were left out.
func (l *leftOut) count() int64 {
	if l == nil {
		return 0
	}
	return int64(len(l.numbers))
}

// reject is the end of a record: it is left out where that is allowed, a problem of
// the input otherwise.
func (p *pass) reject(rec record, bad Problem) error {
	bad.Element = rec.element
	l := p.left
	if l == nil || l.tell == nil {
		p.problems.add(bad)
		return nil
	}
	if n := len(l.numbers); n > 0 && l.numbers[n-1] == p.number {
		return nil // for another reason already
	}
	l.numbers = append(l.numbers, p.number)
	row := p.invalid(rec, bad)
	if id := p.idFor(rec); id != "" {
		for _, c := range p.cells {
			l.ids = append(l.ids, digestOf(id+c.suffix))
		}
	}
	return l.tell(row)
}

func (p *pass) invalid(rec record, bad Problem) InvalidRow {
	row := InvalidRow{
		File: p.src.name, Line: bad.Line, Element: bad.Element, Column: bad.Column, ID: bad.Row, Field: bad.Field,
		Problem: bad.What, Remedy: bad.Remedy, Row: json.RawMessage("null"),
	}
	if row.ID == "" {
		row.ID = p.idFor(rec)
	}
	switch {
	case rec.object != nil:
		row.Row = append(json.RawMessage(nil), rec.object...)
	case rec.raw != nil:
		row.Row, row.Columns = appendQuoted(nil, string(rec.raw)), p.header
	}
	return row
}

// String is where the row is and what is wrong with it, on one line.
func (r InvalidRow) String() string {
	p := Problem{File: r.File, Line: r.Line, Column: r.Column, Element: r.Element, Row: r.ID, Field: r.Field, What: r.Problem}
	return p.Error()
}
