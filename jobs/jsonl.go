package jobs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// jsonlReader reads one JSON object a line. Only LF ends a line: U+2028, U+2029
// and NEL are text. Blank lines are skipped.
type jsonlReader struct {
	r    *bufio.Reader
	max  int
	line int
	long []byte
	cut  bool // the rest of a line that is too long was not read
	some bool // a record was read
}

func newJSONLReader(r io.Reader, maxRecord int) *jsonlReader {
	return &jsonlReader{r: bufio.NewReaderSize(r, 256<<10), max: maxRecord}
}

// next gives the next object. A Problem is that line's alone; an error ends the
// reading.
func (j *jsonlReader) next() (rec record, p *Problem, err error) {
	for {
		text, err := j.readLine()
		if errors.Is(err, errLongLine) {
			return rec, j.tooLong(), j.skipLine()
		}
		if err != nil {
			return rec, nil, err
		}
		line := text
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		rec = record{line: j.line, object: text}
		p, err := j.check(rec)
		if p != nil && p.Column > 0 { // it counts the object's bytes
			begin := len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace))
			p.Column = max(1, utf8.RuneCount(line[:min(begin+p.Column, len(line))]))
		}
		j.some = true
		if p != nil {
			rec.raw, rec.object = rec.object, nil
		}
		return rec, p, err
	}
}

// readLine gives a line without its end, valid until the next call.
func (j *jsonlReader) readLine() ([]byte, error) {
	j.line++
	text, err := j.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		j.long = append(j.long[:0], text...)
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = j.r.ReadSlice('\n')
			j.long = append(j.long, text...)
			if len(j.long) > j.max {
				j.cut = errors.Is(err, bufio.ErrBufferFull)
				return nil, errLongLine
			}
		}
		text = j.long
	}
	if len(text) > j.max {
		return nil, errLongLine
	}
	if err == io.EOF && len(text) > 0 {
		err = nil
	}
	return text, err
}

var errLongLine = errors.New("a line is too long")

func (j *jsonlReader) tooLong() *Problem {
	return &Problem{Line: j.line, What: "a line of more than " + humanize.IBytes(uint64(j.max)), Remedy: "one JSON object per line is expected; --max-record raises the limit"}
}

// skipLine passes over the rest of a line that is too long.
func (j *jsonlReader) skipLine() error {
	j.long = nil
	for j.cut {
		_, err := j.r.ReadSlice('\n')
		j.cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !j.cut && err != io.EOF {
			return err
		}
	}
	return nil
}

// check refuses what is not one JSON object. What shows that the whole file is
// not JSONL comes back as the error.
func (j *jsonlReader) check(rec record) (*Problem, error) {
	if rec.object[0] == '[' && !j.some {
		return nil, &Problem{Line: rec.line, What: "a JSON array, but one object per line is expected (JSONL)", Remedy: "leave --format out, or give --format json"}
	}
	err := validJSON(rec.object)
	var syn *json.SyntaxError
	switch {
	case errors.As(err, &syn) && !j.some && j.pretty(rec.object):
		return nil, &Problem{Line: rec.line, What: "the JSON object goes on over several lines, but one object per line is expected (JSONL)", Remedy: "convert it: jq -c . FILE"}
	case errors.As(err, &syn):
		return &Problem{Line: rec.line, Column: int(syn.Offset), What: "invalid JSON: " + syn.Error(), Remedy: "each line must be one whole JSON object"}, nil
	case rec.object[0] != '{':
		return &Problem{Line: rec.line, What: "a JSON value that is not an object", Remedy: `write the row as {"id": …, "field": …}`}, nil
	}
	return nil, nil
}

func validJSON(b []byte) error {
	if json.Valid(b) {
		return nil
	}
	var v json.RawMessage
	return json.Unmarshal(b, &v)
}

// pretty says that a line looks like the first of an object that is laid out
// over several.
func (j *jsonlReader) pretty(line []byte) bool {
	return line[0] == '{' && (len(line) == 1 || line[len(line)-1] == ',' || line[len(line)-1] == '{' || line[len(line)-1] == '[')
}
