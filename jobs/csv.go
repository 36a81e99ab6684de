package jobs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// record is one row as the input has it: a JSON object in the file's order.
type record struct {
	line   int
	object []byte // valid until the next read
}

// csvReader reads CSV with a header line. A line break inside quotes that is
// CR LF becomes LF (encoding/csv does that); a bare CR stays.
type csvReader struct {
	r      *csv.Reader
	limit  *recordLimit
	header []string
	names  [][]byte // the header as the beginnings of JSON members
	object []byte
}

func newCSVReader(r io.Reader, comma rune, maxRecord int) *csvReader {
	limit := &recordLimit{r: r, max: int64(maxRecord)}
	c := csv.NewReader(limit)
	c.Comma = comma
	c.FieldsPerRecord = -1
	c.ReuseRecord = true
	return &csvReader{r: c, limit: limit}
}

// readHeader reads and checks the first line.
func (c *csvReader) readHeader() []Problem {
	cells, err := c.r.Read()
	if err == io.EOF {
		return []Problem{emptyInput}
	}
	if err != nil {
		return []Problem{*csvProblem(err)}
	}
	for _, cell := range cells {
		c.header = append(c.header, strings.TrimSpace(cell))
	}
	for _, name := range c.header {
		c.names = append(c.names, append(appendQuoted(nil, name), ':'))
	}
	return c.headerProblems()
}

var emptyInput = Problem{What: "the input is empty", Remedy: "check the command or file that it comes from"}

func (c *csvReader) headerProblems() []Problem {
	if p := c.wrongDelimiter(); p != nil {
		return []Problem{*p}
	}
	var out []Problem
	seen := map[string]int{}
	for i, name := range c.header {
		p := Problem{Line: 1, Field: name}
		_, numeric := strconv.ParseFloat(name, 64)
		switch {
		case name == "":
			p.What, p.Remedy = fmt.Sprintf("column %d has no name", i+1), "name it, or remove the comma too many"
		case seen[name] > 0:
			p.What, p.Remedy = fmt.Sprintf("columns %d and %d have the same name", seen[name], i+1), "rename one"
		case numeric == nil:
			p.What, p.Remedy = "a number instead of a column's name", "the first line must be the header: add one"
		default:
			seen[name] = i + 1
			continue
		}
		out = append(out, p)
	}
	return out
}

// wrongDelimiter notices a header that was not split.
func (c *csvReader) wrongDelimiter() *Problem {
	if len(c.header) != 1 {
		return nil
	}
	for _, d := range []struct{ mark, name, flag string }{{";", "semicolons", "';'"}, {"\t", "tabs", "tab"}, {"|", "bars", "'|'"}, {",", "commas", "','"}} {
		if strings.Contains(c.header[0], d.mark) && !strings.ContainsRune(d.mark, c.r.Comma) {
			return &Problem{Line: 1, What: "the columns seem to be separated by " + d.name, Remedy: "give --delimiter " + d.flag}
		}
	}
	return nil
}

// next gives the next row. A *Problem with a line is that row's alone, unless
// last is set: then nothing more can be read.
func (c *csvReader) next() (rec record, p *Problem, err error) {
	c.limit.begin(c.r.InputOffset())
	cells, err := c.r.Read()
	if err != nil {
		return rec, nil, err
	}
	rec.line, _ = c.r.FieldPos(0)
	c.limit.line = rec.line
	if len(cells) != len(c.header) {
		return rec, &Problem{
			Line: rec.line, What: fmt.Sprintf("%s, the header has %d", count(len(cells), "cell"), len(c.header)),
			Remedy: "a cell with a comma or a line break in it needs quotes around it",
		}, nil
	}
	c.object = append(c.object[:0], '{')
	for i, cell := range cells {
		if i > 0 {
			c.object = append(c.object, ',')
		}
		c.object = append(c.object, c.names[i]...)
		c.object = appendQuoted(c.object, cell)
	}
	c.object = append(c.object, '}')
	rec.object = c.object
	return rec, nil, nil
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// csvProblem says what encoding/csv's errors mean; nil for another error.
func csvProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return nil
	}
	out := &Problem{Line: pe.Line, Column: pe.Column, What: pe.Err.Error()}
	switch {
	case errors.Is(err, csv.ErrBareQuote):
		out.What = "a quote in a cell that does not begin with one"
		out.Remedy = `put the whole cell in quotes and double those inside: "the ""best"" one"`
	case errors.Is(err, csv.ErrQuote):
		out.What = "a quoted cell is not closed, or something follows its closing quote"
		out.Remedy = `double the quotes inside a quoted cell ("""Best"" of 2026"); nothing, not even a space, may follow the closing quote`
		if pe.StartLine < pe.Line {
			out.What += fmt.Sprintf(" (the record begins in line %d)", pe.StartLine)
		}
	}
	return out
}

// recordLimit stops a record that does not end, which an unmatched quote makes
// of a whole file.
type recordLimit struct {
	r         io.Reader
	max       int64
	delivered int64
	start     int64 // where the current record begins
	line      int
}

func (l *recordLimit) begin(offset int64) { l.start = offset }

func (l *recordLimit) Read(p []byte) (int, error) {
	if l.delivered-l.start > l.max {
		return 0, &Problem{
			Line: l.line + 1, What: "a record of more than " + humanize.IBytes(uint64(l.max)),
			Remedy: "look for a quote that is not closed; --max-record raises the limit",
		}
	}
	n, err := l.r.Read(p)
	l.delivered += int64(n)
	return n, err
}
