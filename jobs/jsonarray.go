package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
)

// arrayReader reads the elements of one JSON array, one at a time: the array may be
// larger than memory. What is no JSON ends the reading, since nobody can tell then
// where the next element begins; an element that is no object is a problem of its own.
type arrayReader struct {
	r       *bufio.Reader
	max     int
	line    int // of what comes next
	element int // of the last one read
	ended   bool
	scan    valueScan
	value   []byte
	compact bytes.Buffer
}

func newArrayReader(r *bufio.Reader, maxRecord int) *arrayReader {
	return &arrayReader{r: r, max: maxRecord, line: 1}
}

// next gives the next element, on one line.
func (a *arrayReader) next() (rec record, _ *Problem, err error) {
	if a.ended {
		return rec, nil, io.EOF
	}
	more, err := a.begin()
	if err != nil {
		return rec, nil, err
	}
	if !more {
		a.ended = true
		return rec, nil, a.nothingFollows()
	}
	a.element++
	rec = record{line: a.line, element: a.element}
	if err := a.read(rec); err != nil {
		return rec, nil, err
	}
	rec.object, err = a.oneLine(rec)
	a.line += bytes.Count(a.value, []byte{'\n'})
	if err == nil && rec.object[0] != '{' {
		rec.raw, rec.object = rec.object, nil
		return rec, &Problem{Line: rec.line, What: "a JSON value that is not an object", Remedy: `write the row as {"id": …, "field": …}`}, nil
	}
	return rec, nil, err
}

// begin goes to the next element; false is the end of the array.
func (a *arrayReader) begin() (more bool, err error) {
	c, err := a.peek()
	switch {
	case err != nil:
		return false, err
	case a.element == 0 && c == '[':
		_, _ = a.r.Discard(1)
		c, err = a.peek()
		return c != ']', err
	case a.element == 0:
		return false, a.problem("not a JSON array", "one that begins with [ is expected; leave --format out for objects, one a line")
	case c == ']':
		return false, nil
	case c != ',':
		return false, a.problem(fmt.Sprintf("a comma or ] is expected after the element, not %q", c), "repair the array: nothing behind this place was read")
	}
	_, _ = a.r.Discard(1)
	if c, err = a.peek(); err == nil && c == ']' {
		err = a.problem("a comma with no element behind it", "remove it")
	}
	return true, err
}

// peek passes over space and looks at the next byte.
func (a *arrayReader) peek() (byte, error) {
	for {
		b, err := a.r.ReadByte()
		switch {
		case err == io.EOF && a.element == 0:
			return 0, a.problem("the JSON array ends before its first element", "the file is cut short: fetch or make it again")
		case err == io.EOF:
			return 0, a.problem("the JSON array has no end: ] is missing", "the file is cut short: fetch or make it again")
		case err != nil:
			return 0, err
		case b == '\n':
			a.line++
		case b != ' ' && b != '\t' && b != '\r':
			return b, a.r.UnreadByte()
		}
	}
}

// nothingFollows looks behind the array.
func (a *arrayReader) nothingFollows() error {
	_, _ = a.r.Discard(1)
	for {
		b, err := a.r.ReadByte()
		switch {
		case err != nil:
			return err
		case b == '\n':
			a.line++
		case b != ' ' && b != '\t' && b != '\r':
			return a.problem("something follows the end of the JSON array", "one array is read: join several with jq -s add FILE")
		}
	}
}

// read takes the bytes of one value.
func (a *arrayReader) read(rec record) error {
	a.scan, a.value = valueScan{}, a.value[:0]
	for {
		b, err := a.r.Peek(max(1, a.r.Buffered()))
		if len(b) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return a.faultAt(rec, rec.line, "the element does not end", "the file is cut short, or a quote or bracket is missing")
			}
			return err
		}
		n, done := a.scan.feed(b)
		a.value = append(a.value, b[:n]...)
		_, _ = a.r.Discard(n)
		switch {
		case len(a.value) > a.max:
			return a.faultAt(rec, rec.line, "an element of more than "+humanize.IBytes(uint64(a.max)), "look for a quote or bracket that is missing; --max-record raises the limit")
		case done:
			return nil
		}
	}
}

// oneLine checks the value and takes line breaks out, which results could not have.
func (a *arrayReader) oneLine(rec record) ([]byte, error) {
	if bytes.IndexByte(a.value, '\n') < 0 && bytes.IndexByte(a.value, '\r') < 0 {
		return a.value, a.syntax(rec, validJSON(a.value))
	}
	a.compact.Reset()
	if json.Compact(&a.compact, a.value) != nil {
		return nil, a.syntax(rec, validJSON(a.value)) // which knows the place
	}
	return a.compact.Bytes(), nil
}

// syntax says where the value is no JSON, with what stands there.
func (a *arrayReader) syntax(rec record, err error) error {
	var syn *json.SyntaxError
	if !errors.As(err, &syn) {
		return err
	}
	at := min(int(syn.Offset), len(a.value))
	line := rec.line + bytes.Count(a.value[:at], []byte{'\n'})
	near := bytes.ToValidUTF8(a.value[max(0, at-20):min(len(a.value), at+10)], nil)
	what := fmt.Sprintf("invalid JSON: %v, in … %s …", syn, bytes.Join(bytes.Fields(near), []byte{' '}))
	return a.faultAt(rec, line, what, "repair the array: nothing behind this place was read")
}

func (a *arrayReader) problem(what, remedy string) *Problem {
	return &Problem{Line: a.line, Element: a.element, What: what, Remedy: remedy}
}

func (a *arrayReader) faultAt(rec record, line int, what, remedy string) *Problem {
	return &Problem{Line: line, Element: rec.element, What: what, Remedy: remedy}
}
