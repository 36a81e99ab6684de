package jobs

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
)

// idFor is the id of a record that may have none that can be used.
func (p *pass) idFor(rec record) string {
	if p.spec.idColumn() == RowNumbers {
		return strconv.Itoa(p.number)
	}
	if rec.object == nil {
		return ""
	}
	id, bad := rowID(p.members, p.spec.idColumn(), rec.line, p.number)
	if bad != nil {
		return ""
	}
	return id
}

// unwrap takes the row out of a line of the file of rows that were left out.
func (p *pass) unwrap(rec *record) *Problem {
	if !p.first && !p.kind.mended {
		return nil
	}
	ms, err := members(rec.object, p.members[:0])
	isOne := err == nil && hasMember(ms, "problem") && hasMember(ms, "row") && hasMember(ms, "line")
	switch {
	case isOne:
		return rec.mend(ms)
	case p.kind.mended:
		return &Problem{Line: rec.line, What: `no line of a list of rows that were left out: it has no "row"`, Remedy: "keep the line as it was and change what is in its row"}
	}
	return nil
}

// mend makes the record the row that the line carries.
func (rec *record) mend(ms []member) *Problem {
	var line InvalidRow
	if err := json.Unmarshal(rec.object, &line); err != nil {
		return &Problem{Line: rec.line, What: "the line was changed beside its row: " + err.Error(), Remedy: "keep the line as it was and change what is in its row"}
	}
	for _, m := range ms {
		if m.name == "row" {
			rec.object = m.raw
		}
	}
	rec.mended, rec.id = true, line.ID
	if rec.object[0] == '{' {
		return nil
	}
	var text string
	if json.Unmarshal(rec.object, &text) == nil && rec.parse(text, line.Columns) {
		return nil
	}
	rec.object, rec.raw = nil, nil
	return &Problem{Line: rec.line, Row: line.ID, What: "the row is not mended: " + line.Problem, Remedy: `write it as an object: "row": {"id": …, "field": …}`}
}

// parse reads a row that is still a text: one JSON object, or a record of CSV.
func (rec *record) parse(text string, columns []string) bool {
	if object := strings.TrimSpace(text); strings.HasPrefix(object, "{") && json.Valid([]byte(object)) {
		rec.object = []byte(object)
		return true
	}
	if len(columns) == 0 {
		return false
	}
	r := csv.NewReader(strings.NewReader(text))
	records, err := r.ReadAll()
	if err != nil || len(records) != 1 || len(records[0]) != len(columns) {
		return false
	}
	rec.object = csvObject(nil, quotedNames(columns), records[0])
	return true
}

// mend notes that rows which were left out of the run come now. The digest of all rows
// is not known then: the next enqueue compares them one by one.
func (m *meta) mend(p *Prepared, e *ChangedError) {
	e.Removed = 0 // the input has but a part of the run's rows
	m.LeftOut = max(0, m.LeftOut-e.New/p.rowsEach())
	m.inputs = ""
}

// keeps says that the input lacks nothing but rows which were mended since: it still
// leaves them out, and the run has them.
func (e *ChangedError) keeps(m meta, p *Prepared) bool {
	return e.Changed == 0 && e.New == 0 && e.Removed > 0 && e.Removed <= (p.LeftOut-m.LeftOut)*p.rowsEach()
}

// adds says that the input differs from the run by nothing, or by rows that were left
// out of it before.
func (e *ChangedError) adds(m meta, p *Prepared) bool {
	return e.Changed == 0 && e.Removed == 0 && (p.Mended || e.New == 0 || e.New <= (m.LeftOut-p.LeftOut)*p.rowsEach())
}

// rowsEach is how many rows of the run one of the input makes.
func (p *Prepared) rowsEach() int64 { return max(1, p.Rows/max(1, p.Records)) }
