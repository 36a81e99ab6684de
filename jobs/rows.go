package jobs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// rowReader reads records of one format.
type rowReader interface {
	next() (record, *Problem, error)
}

// pass reads the input once, from bytes to rendered rows.
type pass struct {
	spec  Spec
	tmpl  *Template
	axes  []Axis // the matrix, and the outputs
	cells []cell
	files *fileFolder
	in    Input
	src   *source

	rows     rowReader
	number   int      // of the current record, from 1
	header   []string // CSV's; nil for JSONL
	members  []member
	problems *problems
	emit     func(RenderedRow) error
}

// run reads to the end. Problems are collected; the error is for what is not
// the input's fault, or emit's.
func (p *pass) run(ctx context.Context) error {
	raw, err := p.src.raw()
	if err != nil {
		return p.fault(err)
	}
	defer raw.Close()
	if err := p.start(raw); err != nil {
		return p.fault(err)
	}
	if p.problems.list.Total > 0 {
		return nil
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		stop, err := p.step()
		if stop || err != nil {
			return err
		}
	}
}

// fault keeps a *Problem with the others and passes other errors on.
func (p *pass) fault(err error) error {
	var prob *Problem
	if errors.As(err, &prob) {
		p.problems.add(*prob)
		return nil
	}
	return err
}

// start opens the layers: inflate, decode, check, split into records.
func (p *pass) start(raw io.Reader) error {
	inflated, err := inflate(bufio.NewReaderSize(raw, 64<<10), p.in.maxBytes())
	if err != nil {
		return err
	}
	text, err := toUTF8(inflated, p.in.Encoding)
	if err != nil {
		return err
	}
	br := bufio.NewReaderSize(text, 256<<10)
	format, err := p.format(br)
	if err != nil {
		return err
	}
	if format == "jsonl" {
		p.rows = newJSONLReader(br, p.in.maxRecord())
		return nil
	}
	return p.startCSV(br, format)
}

// format is as asked, else by the name, else by the first character.
func (p *pass) format(br *bufio.Reader) (string, error) {
	head, err := br.Peek(512)
	if err != nil && err != io.EOF && len(head) == 0 {
		return "", err
	}
	first := bytes.TrimLeft(head, " \t\r\n")
	if len(first) == 0 && len(head) < 512 {
		return "", &emptyInput
	}
	switch f := strings.ToLower(p.in.Format); f {
	case "":
	case "csv", "tsv", "jsonl":
		return f, nil
	case "ndjson", "json":
		return "jsonl", nil
	default:
		return "", &Problem{What: fmt.Sprintf("unknown format %q", p.in.Format), Remedy: "--format takes csv, tsv or jsonl"}
	}
	if f := p.src.format(); f != "" {
		return f, nil
	}
	if first[0] == '{' || first[0] == '[' {
		return "jsonl", nil
	}
	return "csv", nil
}

func (p *pass) startCSV(r io.Reader, format string) error {
	comma := p.in.Delimiter
	if comma == 0 {
		comma = ','
		if format == "tsv" {
			comma = '\t'
		}
	}
	c := newCSVReader(r, comma, p.in.maxRecord())
	for _, prob := range c.readHeader() {
		p.problems.add(prob)
	}
	p.rows, p.header, c.limit.line = c, c.header, 1
	if col := p.spec.idColumn(); p.problems.list.Total == 0 && col != RowNumbers && !slices.Contains(c.header, col) {
		p.problems.add(Problem{
			Line: 1, Field: col, What: "no such column, which is to identify the rows; there are: " + strings.Join(c.header, ", "),
			Remedy: "name another with --id-column, or take the row's number with --id-column '#'; if line 1 is not a header, add one",
		})
	}
	return nil
}

// step reads one record and emits its rows.
func (p *pass) step() (stop bool, err error) {
	rec, bad, err := p.rows.next()
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case err != nil:
		return p.readError(err)
	case bad != nil:
		p.problems.add(*bad)
		return false, nil
	}
	return p.record(rec)
}

// readError goes on after a record that CSV's rules refuse; anything else is
// the end.
func (p *pass) readError(err error) (stop bool, _ error) {
	var prob *Problem
	if errors.As(err, &prob) {
		p.problems.addFatal(*prob)
		return true, nil
	}
	if prob = csvProblem(err); prob != nil {
		p.problems.add(*prob)
		return false, nil
	}
	return true, err
}

func (p *pass) record(rec record) (stop bool, err error) {
	p.number++
	if p.members, err = members(rec.object, p.members[:0]); err != nil {
		return true, err
	}
	id, bad := p.checkFields(rec)
	if bad != nil {
		p.problems.add(*bad)
		return false, nil
	}
	own := len(p.members)
	for _, c := range p.cells {
		p.members = append(p.members[:own], c.members...)
		row := RenderedRow{ID: id + c.suffix, Line: rec.line, Fields: c.extend(rec.object, own == 0)}
		if stop, err := p.render(row); stop || err != nil {
			return stop, err
		}
	}
	return false, nil
}
