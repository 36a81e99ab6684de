package jobs

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// liveEdit copies a live file and puts values in on the way.
type liveEdit struct {
	live   *Live
	w      io.Writer
	values map[string][]*Put // by row
	err    error
}

// Put is a value, as JSON, for a column of a live row.
type Put struct {
	Row, Column string
	Value       []byte
	Done        bool // it is in what was written
}

// value is what goes into a column of a row.
func (e *liveEdit) value(id, column string) *Put {
	for _, p := range e.values[id] {
		if p.Column == column {
			return p
		}
	}
	return nil
}

func (e *liveEdit) put(b []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
}

// json edits the objects of a JSON array or of lines; what is between them stays.
func (e *liveEdit) json(text []byte) {
	for len(text) > 0 {
		at := bytes.IndexByte(text, '{')
		if at < 0 {
			break
		}
		end := skipValue(text, at)
		e.put(text[:at])
		e.object(text[at:end])
		text = text[end:]
	}
	e.put(text)
}

// object edits the values of one object in place, and adds those of keys that it lacks
// at its end.
func (e *liveEdit) object(text []byte) {
	ms, err := members(text, nil)
	if err != nil {
		e.put(text)
		return
	}
	id := idIn(ms, e.live.Key)
	from := 0
	for _, m := range ms {
		at := from + placeIn(text[from:], m.raw)
		p := e.value(id, m.name)
		if p == nil {
			continue
		}
		e.put(text[from:at])
		e.put(p.Value)
		p.Done = true
		from = at + len(m.raw)
	}
	if len(ms) > 0 {
		last := placeIn(text, ms[len(ms)-1].raw) + len(ms[len(ms)-1].raw)
		e.put(text[from:last])
		e.add(text, ms, id)
		from = last
	}
	e.put(text[from:])
}

// add writes the members that an object lacks, spaced as its last one is.
func (e *liveEdit) add(text []byte, ms []member, id string) {
	between, colon := spacing(text, ms)
	for _, p := range e.values[id] {
		if p.Done {
			continue
		}
		e.put([]byte("," + between))
		e.put(appendQuoted(nil, p.Column))
		e.put([]byte(":" + colon))
		e.put(p.Value)
		p.Done = true
	}
}

// spacing is the white space after an object's last comma, and after its last colon.
func spacing(text []byte, ms []member) (between, colon string) {
	from := skipSpace(text, 0) + 1
	if len(ms) > 1 {
		prev := ms[len(ms)-2].raw
		from = skipSpace(text, placeIn(text, prev)+len(prev)) + 1 // the comma
	}
	name := skipSpace(text, from)
	after := skipSpace(text, skipString(text, name)) + 1
	between, colon = string(text[from:name]), string(text[after:placeIn(text, ms[len(ms)-1].raw)])
	if len(ms) == 1 && !strings.Contains(between, "\n") {
		between = colon // {"id": 1} has a space after its commas too
	}
	return between, colon
}

// placeIn is where part, a slice of text, begins.
func placeIn(text, part []byte) int { return cap(text) - cap(part) }

// csv edits the cells of a CSV text, record by record.
func (e *liveEdit) csv(text []byte, comma byte) {
	var head []string
	for len(text) > 0 {
		cells, size := csvRecord(text, comma)
		rec, end := text[:size], ""
		text = text[size:]
		for _, eol := range []string{"\r\n", "\n"} {
			if end == "" && bytes.HasSuffix(rec, []byte(eol)) {
				end = eol
			}
		}
		switch {
		case len(bytes.TrimSpace(rec)) == 0:
			e.put(rec)
			continue
		case head == nil:
			for _, c := range cells {
				head = append(head, unquoteCell(c))
			}
			e.put(rec)
			continue
		}
		e.record(head, cells, comma)
		e.put([]byte(end))
	}
}

func (e *liveEdit) record(head []string, cells [][]byte, comma byte) {
	id := ""
	if at := slices.Index(head, e.live.Key); at >= 0 && at < len(cells) {
		id = unquoteCell(cells[at])
	}
	for i, cell := range cells {
		if i > 0 {
			e.put([]byte{comma})
		}
		if i < len(head) {
			if p := e.value(id, head[i]); p != nil {
				text, err := cellOf(p.Value)
				if e.err == nil {
					e.err = err
				}
				cell = quoteCell(text, comma, bytes.HasPrefix(cell, []byte{'"'}))
				p.Done = true
			}
		}
		e.put(cell)
	}
}

// csvRecord cuts the first record of a text into its cells, as they stand, and gives
// its length with the line end.
func csvRecord(text []byte, comma byte) (cells [][]byte, size int) {
	// Within quotes a doubled quote closes and opens again at once, which comes to the
	// same; outside, one counts at the cell's beginning only.
	quoted, opened, from := false, false, 0
	for i, c := range text {
		switch {
		case c == '"' && (opened || i == from):
			quoted, opened = !quoted, true
		case quoted:
		case c == comma:
			cells, from, opened = append(cells, text[from:i]), i+1, false
		case c == '\n':
			return append(cells, bytes.TrimSuffix(text[from:i], []byte{'\r'})), i + 1
		}
	}
	return append(cells, text[from:]), len(text)
}

func unquoteCell(cell []byte) string {
	s := string(cell)
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`)
	}
	return s
}

func quoteCell(text string, comma byte, quoted bool) []byte {
	if !quoted && !strings.ContainsAny(text, "\"\r\n"+string(comma)) && strings.TrimSpace(text) == text {
		return []byte(text)
	}
	return []byte(`"` + strings.ReplaceAll(text, `"`, `""`) + `"`)
}
