package jobs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// csvWindow keeps the text of the current record, and stops one that does not end,
// which a quote without its other half makes of a whole file.
type csvWindow struct {
	r     io.Reader
	comma rune
	max   int64
	buf   []byte // what was read from offset at on
	at    int64
	start int64 // where the current record begins
	line  int   // where that is, or blank lines before it are
	keep  crKeeper
}

// begin takes what comes next for a record.
func (w *csvWindow) begin(offset int64) {
	w.line += bytes.Count(w.text(offset), []byte{'\n'})
	w.start = offset
}

// text is the current record, which ends before offset.
func (w *csvWindow) text(offset int64) []byte { return w.buf[w.start-w.at : offset-w.at] }

func (w *csvWindow) Read(p []byte) (int, error) {
	if kept := w.at + int64(len(w.buf)) - w.start; kept > w.max {
		return 0, w.tooLong()
	}
	if w.start > w.at {
		w.buf = w.buf[:copy(w.buf, w.buf[w.start-w.at:])]
		w.at = w.start
	}
	n, err := w.r.Read(p)
	w.buf = append(w.buf, p[:n]...)
	w.keep.hide(p[:n])
	return n, err
}

// tooLong names the quote that is open at the end of what was read, if one is.
func (w *csvWindow) tooLong() *Problem {
	size := humanize.IBytes(uint64(w.max))
	q := quoteScan{text: w.buf[w.start-w.at:], comma: w.comma, line: w.line, column: 1}
	if q.run(); q.open {
		return &Problem{Line: q.fault.Line, Column: q.fault.Column, What: "a quote begins here and is not closed within " + size, Remedy: "close it; --max-record raises the limit for a cell that is so long"}
	}
	return &Problem{Line: w.line, What: "a record of more than " + size, Remedy: "--max-record raises the limit"}
}

// fault says what encoding/csv's error means; nil for another error. certain is where
// the next record begins without a doubt, so that reading can go on.
func (c *csvReader) fault(err error) (p *Problem, certain bool) {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return nil, false
	}
	text := c.window.text(c.r.InputOffset())
	skipped := len(text) - len(bytes.TrimLeft(text, "\r\n"))
	q := quoteScan{text: text[skipped:], comma: c.r.Comma, line: pe.StartLine, column: 1}
	q.run()
	if q.fault == nil {
		return &Problem{Line: pe.Line, Column: pe.Column, What: pe.Err.Error()}, false
	}
	lines := bytes.Count(bytes.TrimRight(q.text, "\r\n"), []byte{'\n'})
	return q.fault, lines == 0 && !q.open
}

// refused is a record that CSV's rules refuse.
func (c *csvReader) refused(err error) (rec record, _ *Problem, _ error) {
	p, certain := c.fault(err)
	if p == nil {
		return rec, nil, err
	}
	if !certain {
		c.broken = true
		return rec, nil, p
	}
	rec.line, rec.raw = p.Line, bytes.TrimSpace(c.window.text(c.r.InputOffset()))
	return rec, p, nil
}

// quoteScan walks over a record that has a quote where none may be, and finds it.
// Behind the fault it goes on as lenient readers do, which take the quote for text.
type quoteScan struct {
	text         []byte
	comma        rune
	line, column int // of text[0]
	fault        *Problem
	open         bool // the text ends inside quotes
}

const quoteRemedy = `double the quotes inside a quoted cell ("""Best"" of 2026"); nothing, not even a space, may follow the closing quote`

func (q *quoteScan) run() {
	for i := 0; i < len(q.text); {
		if q.text[i] == '"' {
			i = q.quoted(i)
		} else {
			i = q.plain(i)
		}
	}
}

// plain passes over a cell without quotes and its comma or line end.
func (q *quoteScan) plain(i int) int {
	for i < len(q.text) {
		r, n := utf8.DecodeRune(q.text[i:])
		switch r {
		case q.comma, '\n':
			return i + n
		case '"':
			q.found(i, "a quote in a cell that does not begin with one", `put the whole cell in quotes and double those inside: "the ""best"" one"`)
		}
		i += n
	}
	return i
}

// quoted passes over a cell that begins with a quote.
func (q *quoteScan) quoted(begin int) int {
	for i := begin + 1; i < len(q.text); i++ {
		if q.text[i] != '"' {
			continue
		}
		rest := bytes.TrimPrefix(q.text[i+1:], []byte{'\r'})
		r, n := utf8.DecodeRune(rest)
		switch {
		case r == '"' && len(rest) == len(q.text)-i-1: // a doubled one
			i++
		case len(rest) == 0 || r == q.comma || r == '\n':
			return len(q.text) - len(rest) + n
		default:
			q.follows(begin, i+1)
			return q.plain(i + 1)
		}
	}
	q.open = true
	q.found(begin, "the quote that begins here is not closed", "close it; if it is a part of the text, put the whole cell in quotes and double it")
	return len(q.text)
}

// follows is the fault of a text behind a closing quote.
func (q *quoteScan) follows(begin, at int) {
	line, column := q.place(begin)
	what := "something follows a cell's closing quote"
	if here, _ := q.place(at); here > line {
		what = fmt.Sprintf("something follows the closing quote of a cell that begins in line %d, column %d: it was probably to end earlier", line, column)
	}
	q.found(at, what, quoteRemedy)
}

// found keeps the first fault.
func (q *quoteScan) found(at int, what, remedy string) {
	if q.fault == nil {
		line, column := q.place(at)
		q.fault = &Problem{Line: line, Column: column, What: what, Remedy: remedy}
	}
}

func (q *quoteScan) place(at int) (line, column int) {
	before := q.text[:at]
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		return q.line + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[i+1:])
	}
	return q.line, q.column + utf8.RuneCount(before)
}
