package jobs

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// RowNumbers as Spec.IDColumn makes the row's number its id: the first row is 1,
// whatever lines the rows take up.
const RowNumbers = "#"

// maxRowID is the longest row id, in bytes: it is a table's column and a part
// of every line of results.
const maxRowID = 1024

// idColumn is the column that identifies a row.
func (s Spec) idColumn() string {
	if s.IDColumn == "" {
		return "id"
	}
	return s.IDColumn
}

// rowID is the id of a record whose members are known. A mended row that is counted
// keeps the number that it had.
func (p *pass) rowID(rec record) (string, *Problem) {
	if rec.mended && p.spec.idColumn() == RowNumbers {
		return rec.id, nil
	}
	id, bad := rowID(p.members, p.spec.idColumn(), rec.line, p.number)
	if bad != nil && p.spec.Lines == "" && (hasMember(p.members, "custom_id") || hasMember(p.members, "request")) {
		bad.Remedy += "; a file of batch requests is sent as it is, without a template"
	}
	return id, bad
}

// rowID takes a row's id from its fields. The text counts: '1' and 1 are the
// same id, 'A' and 'a' are two.
func rowID(ms []member, column string, line, number int) (string, *Problem) {
	if column == RowNumbers {
		return strconv.Itoa(number), nil
	}
	for _, m := range ms {
		if m.name == column {
			return idOf(m, line)
		}
	}
	p := &Problem{
		Line: line, Field: column, What: "the row has no such field, which is to identify it",
		Remedy: "add it, name another with --id-column, or take the row's number with --id-column '#'",
	}
	for _, m := range ms {
		if strings.EqualFold(m.name, column) {
			p.Remedy = fmt.Sprintf("capitals count: give --id-column %s, or rename the field", m.name)
		}
	}
	return "", p
}

func idOf(m member, line int) (string, *Problem) {
	p := &Problem{Line: line, Field: m.name, Remedy: "each row needs an id of its own: a text or a number"}
	v, err := value(m.raw)
	if err != nil {
		p.What = err.Error()
		return "", p
	}
	id := ""
	switch v := v.(type) {
	case string, Number, zero:
		id = text(v)
	default:
		p.What = kindOf(v) + " as the row's id"
		return "", p
	}
	switch {
	case strings.TrimSpace(id) == "":
		p.What = "the row's id is empty"
	case strings.ContainsFunc(id, breaksLines):
		p.What = fmt.Sprintf("the row's id has a control character: %.40q", id)
	case len(id) > maxRowID:
		p.What = fmt.Sprintf("the row's id has %d bytes, more than %d", len(id), maxRowID)
	default:
		return id, nil
	}
	return "", p
}

// noteID keeps the id of a record that is bad: that it is another's too is said along
// with its other fault, and not only once that is mended.
func (p *pass) noteID(rec record) error {
	id := p.idFor(rec)
	if p.taken == nil || id == "" {
		return nil
	}
	for _, c := range p.cells {
		row := RenderedRow{ID: id + c.suffix, File: p.src.name, Line: rec.line, Element: rec.element}
		if taken := p.taken(row); taken != "" {
			return p.reject(rec, takenID(row, taken))
		}
	}
	return nil
}

func takenID(row RenderedRow, taken string) Problem {
	return Problem{Line: row.Line, Row: row.ID, What: "the id was used in " + taken + " already", Remedy: "each row needs an id of its own"}
}

// breaksLines says that a character may end a line where ids are shown.
func breaksLines(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// digest stands for a row id or a key where 128 bits are enough.
type digest [16]byte

func digestOf(s string) digest {
	sum := sha256.Sum256([]byte(s))
	return digest(sum[:16])
}
