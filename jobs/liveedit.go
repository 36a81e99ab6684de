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
	change func(id, column string) ([]byte, bool)
	n      int64
	err    error
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

// object edits the values of one object in place.
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
		raw, ok := []byte(nil), false
		if id != "" {
			raw, ok = e.change(id, m.name)
		}
		if !ok {
			continue
		}
		e.put(text[from:at])
		e.put(raw)
		e.n++
		from = at + len(m.raw)
	}
	e.put(text[from:])
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
			if raw, ok := e.change(id, head[i]); ok {
				text, err := cellOf(raw)
				if e.err == nil {
					e.err = err
				}
				cell = quoteCell(text, comma, bytes.HasPrefix(cell, []byte{'"'}))
				e.n++
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
