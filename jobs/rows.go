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
	cells []cell
	in    Input
	src   *source

	rows     rowReader
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
	if col := p.spec.idColumn(); p.problems.list.Total == 0 && col != LineNumbers && !slices.Contains(c.header, col) {
		p.problems.add(Problem{
			Line: 1, Field: col, What: "no such column, which is to identify the rows; there are: " + strings.Join(c.header, ", "),
			Remedy: "name another with --id-column, or take line numbers with --id-column '#'; if line 1 is not a header, add one",
		})
	}
	return nil
}

// step reads one record and emits its rows.
func (p *pass) step() (stop bool, err error) {
	rec, bad, err := p.rows.next()
	switch {
	case err == io.EOF:
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

// checkFields looks at what is a row's own, before any matrix value.
func (p *pass) checkFields(rec record) (string, *Problem) {
	id, bad := rowID(p.members, p.spec.idColumn(), rec.line)
	if bad != nil {
		return "", bad
	}
	prob := Problem{Line: rec.line, Row: id}
	if half := loneSurrogate(rec.object); half != "" {
		prob.Field = fieldWith(p.members, half)
		prob.What, prob.Remedy = "half a character ("+half+"), which is no text", "repair it where the file is made: an emoji was probably cut in two"
		return "", &prob
	}
	if name := repeatedName(p.members); name != "" {
		prob.Field, prob.What, prob.Remedy = name, "the field occurs twice in this object", "remove one"
		return "", &prob
	}
	if name := clash(p.members, p.spec.Matrix); name != "" {
		prob.Field, prob.What, prob.Remedy = name, "the row has a field of the same name as the matrix", "rename the one or the other"
		return "", &prob
	}
	return id, nil
}

func fieldWith(ms []member, part string) string {
	for _, m := range ms {
		if bytes.Contains(m.raw, []byte(part)) && loneSurrogate(m.raw) != "" {
			return m.name
		}
	}
	return ""
}

func repeatedName(ms []member) string {
	if len(ms) > 16 {
		seen := make(map[string]bool, len(ms))
		for _, m := range ms {
			if seen[m.name] {
				return m.name
			}
			seen[m.name] = true
		}
		return ""
	}
	for i, m := range ms {
		for _, other := range ms[:i] {
			if m.name == other.name {
				return m.name
			}
		}
	}
	return ""
}

func (p *pass) render(row RenderedRow) (stop bool, err error) {
	row.Prompt, row.System, err = p.tmpl.render(p.members)
	if err != nil {
		return p.renderProblem(row, err), nil
	}
	if strings.TrimSpace(row.Prompt) == "" {
		p.problems.add(Problem{Line: row.Line, Row: row.ID, What: "the rendered prompt is empty", Remedy: "fill the fields that the template uses, or leave the row out"})
		return false, nil
	}
	row.Key = p.tmpl.Key(row.Prompt, row.System)
	return false, p.emit(row)
}

// renderProblem stops at a field that no row of a CSV file can have.
func (p *pass) renderProblem(row RenderedRow, err error) (stop bool) {
	prob := Problem{Line: row.Line, Row: row.ID, What: err.Error(), Remedy: "change the template or the row"}
	var fe *FieldError
	if !errors.As(err, &fe) {
		p.problems.add(prob)
		return false
	}
	prob.Field = fe.Field
	prob.What = "the row has no such field, and the template uses it (" + fe.Where + ")"
	prob.Remedy = fmt.Sprintf("add it (it may be empty), or write {{if has . %q}}…{{end}} around it", fe.Field)
	if p.header == nil {
		p.problems.add(prob)
		return false
	}
	known := strings.Join(p.header, ", ")
	if len(p.spec.Matrix) > 0 {
		known += "; matrix: " + axisNames(p.spec.Matrix)
	}
	p.problems.add(Problem{
		Line: 1, Field: fe.Field, What: "no such column, and the template uses it (" + fe.Where + "); there are: " + known,
		Remedy: "rename the column or the field in the template; if line 1 is not a header, add one",
	})
	return true
}
