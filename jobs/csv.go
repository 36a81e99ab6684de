package jobs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// csvReader reads CSV with a header line. Cells are what they are in the file, byte for
// byte, line breaks inside quotes too.
type csvReader struct {
	r      *csv.Reader
	window *csvWindow
	header []string
	names  [][]byte // the header as the beginnings of JSON members
	object []byte
	broken bool // nobody can tell where the next record begins
}

func newCSVReader(r io.Reader, comma rune, maxRecord int) *csvReader {
	w := &csvWindow{r: r, comma: comma, max: int64(maxRecord), line: 1, keep: crKeeper{comma: string(comma)}}
	c := csv.NewReader(w)
	c.Comma = comma
	c.FieldsPerRecord = -1
	c.ReuseRecord = true
	return &csvReader{r: c, window: w}
}

// startCSV reads the header: what is wrong with it no row can do without.
func (p *pass) startCSV(r io.Reader) {
	comma := p.in.Delimiter
	if comma == 0 {
		comma = ','
		if p.read == "tsv" {
			comma = '\t'
		}
	}
	c := newCSVReader(r, comma, p.in.maxRecord())
	found := c.readHeader()
	for _, prob := range found {
		p.problems.add(prob)
	}
	p.rows, p.header = c, c.header
	if col := p.spec.idColumn(); len(found) == 0 && col != RowNumbers && !slices.Contains(c.header, col) {
		remedy := "name another with --id-column, or take the row's number with --id-column '#'; if line 1 is not a header, add one"
		if like := sameButCase(c.header, col); like != "" {
			remedy = fmt.Sprintf("capitals count: give --id-column %s, or rename the column", like)
		}
		p.problems.add(Problem{
			Line: 1, Field: col, What: "no such column, which is to identify the rows; there are: " + listed(c.header), Remedy: remedy,
		})
	}
}

// readHeader reads and checks the first line.
func (c *csvReader) readHeader() []Problem {
	cells, err := c.r.Read()
	if err == io.EOF {
		return []Problem{emptyInput}
	}
	if err != nil {
		return []Problem{*c.headerFault(err)}
	}
	for _, cell := range restoreCRs(cells) {
		c.header = append(c.header, strings.TrimSpace(cell))
	}
	c.names = quotedNames(c.header)
	return c.headerProblems()
}

var emptyInput = Problem{What: "the input is empty", Remedy: "check the command or file that it comes from"}

// headerFault is what keeps the header from being read.
func (c *csvReader) headerFault(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	if p, _ := c.fault(err); p != nil {
		return p
	}
	return &Problem{Line: 1, What: err.Error()}
}

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

// next gives the next row.
func (c *csvReader) next() (rec record, p *Problem, err error) {
	if c.broken {
		return rec, nil, io.EOF
	}
	c.window.begin(c.r.InputOffset())
	cells, err := c.r.Read()
	if err != nil {
		return c.refused(err)
	}
	rec.line, _ = c.r.FieldPos(0)
	if len(cells) != len(c.header) {
		rec.raw = c.window.text(c.r.InputOffset())
		return rec, &Problem{
			Line: rec.line, What: fmt.Sprintf("%s, the header has %d", count(len(cells), "cell"), len(c.header)),
			Remedy: "a cell with a comma or a line break in it needs quotes around it",
		}, nil
	}
	c.object = csvObject(c.object[:0], c.names, restoreCRs(cells))
	rec.object = c.object
	return rec, nil, nil
}

// quotedNames are columns as the beginnings of JSON members.
func quotedNames(columns []string) [][]byte {
	out := make([][]byte, len(columns))
	for i, name := range columns {
		out[i] = append(appendQuoted(nil, name), ':')
	}
	return out
}

// csvObject writes a row as a JSON object.
func csvObject(b []byte, names [][]byte, cells []string) []byte {
	b = append(b, '{')
	for i, cell := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, names[i]...)
		b = appendQuoted(b, cell)
	}
	return append(b, '}')
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
