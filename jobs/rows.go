package jobs

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// rowReader reads records of one format. A Problem is that record's alone and reading
// goes on behind it; an error, io.EOF among them, ends the reading.
type rowReader interface {
	next() (record, *Problem, error)
}

// record is one row as the input has it.
type record struct {
	line    int    // where it begins, from 1
	element int    // of a JSON array, from 1
	object  []byte // a JSON object in the file's order; valid until the next read
	raw     []byte // the text that it was read from; nil: object
	mended  bool   // it was left out of a run before, and mended (InvalidRow)
	id      string // of a mended row: what it was called where it was left out
}

// emitter takes the rows of one record, and says what is wrong with them; its error
// ends the reading.
type emitter func(record, []RenderedRow) ([]Problem, error)

// pass reads the input once, from bytes to rendered rows.
type pass struct {
	spec  Spec
	tmpl  *Template
	axes  []Axis // the matrix, and the outputs
	cells []cell
	files *fileFolder
	in    Input
	kind  kind
	left  *leftOut // nil: no row may be left out

	src      *source // the file that is being read
	read     string  // its format
	room     int64   // bytes that may still be read, of all files
	first    bool    // no good record of it was read yet
	sniffed  *kind   // reading ends when it is known; nil: all is read
	rows     rowReader
	number   int      // of the current record, from 1, over all files
	header   []string // CSV's; nil for JSON
	members  []member
	ready    []RenderedRow // the current record's
	problems *problems
	emit     emitter
	taken    func(RenderedRow) string // ids.use, for rows that are bad and not emitted; nil: their ids do not count
}

// run reads all files to the end. Problems are collected; the error is for what is
// not the input's fault.
func (p *pass) run(ctx context.Context, files sources) error {
	p.room = p.in.maxBytes()
	for _, src := range files {
		p.src, p.problems.file = src, src.name
		if err := p.file(ctx); err != nil {
			return err
		}
	}
	return nil
}

// file reads one of them: a fault of one leaves the others to be looked at.
func (p *pass) file(ctx context.Context) error {
	raw, err := p.src.raw()
	if err != nil {
		return p.fault(err)
	}
	defer raw.Close()
	before := p.problems.list.Total
	if err := p.start(raw); err != nil {
		return p.fault(err)
	}
	if p.problems.list.Total > before {
		return nil
	}
	begun := p.number
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		stop, err := p.step()
		if err != nil {
			return err
		}
		if stop {
			break
		}
	}
	if p.number == begun && p.problems.list.Total == before {
		p.problems.add(Problem{What: "the input has no rows", Remedy: "check the command or file that it comes from"})
	}
	return nil
}

// fault keeps a *Problem before the others and passes other errors on.
func (p *pass) fault(err error) error {
	var prob *Problem
	if errors.As(err, &prob) {
		p.problems.addFatal(*prob)
		return nil
	}
	return err
}

// start opens the layers: inflate, decode, check, split into records.
func (p *pass) start(raw io.Reader) error {
	inflated, err := inflate(bufio.NewReaderSize(raw, 64<<10), p.in.maxBytes(), &p.room)
	if err != nil {
		return err
	}
	text, err := toUTF8(inflated, p.in.Encoding)
	if err != nil {
		return err
	}
	br := bufio.NewReaderSize(text, 256<<10)
	if p.read, err = p.format(br); err != nil {
		return err
	}
	p.first, p.header = true, nil
	if prob := bareCRs(br, p.read, plainText(inflated, text.enc)); prob != nil {
		return prob
	}
	switch p.read {
	case "jsonl":
		p.rows = newJSONLReader(br, p.in.maxRecord())
	case "json":
		p.rows = newArrayReader(br, p.in.maxRecord())
	default:
		p.startCSV(br)
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
		return true, p.fault(err)
	}
	p.number++
	if p.left.has(p.number) {
		return false, nil
	}
	if bad == nil {
		bad = p.unwrap(&rec)
	}
	if bad != nil {
		return false, p.reject(rec, *bad)
	}
	if !p.checkKind(rec) {
		return true, nil
	}
	return p.record(rec)
}

// record makes a record's rows. Where one of them is bad, none is emitted.
func (p *pass) record(rec record) (stop bool, err error) {
	if p.members, err = members(rec.object, p.members[:0]); err != nil {
		return true, err
	}
	id, bad := p.checkFields(rec)
	if bad != nil {
		return false, errors.Join(p.reject(rec, *bad), p.noteID(rec))
	}
	own, good := len(p.members), true
	p.ready = p.ready[:0]
	for _, c := range p.cells {
		p.members = append(p.members[:own], c.members...)
		row := RenderedRow{ID: id + c.suffix, File: p.src.name, Line: rec.line, Element: rec.element, Fields: c.extend(rec.object, own == 0)}
		bad, stop := p.render(&row)
		if stop {
			return true, nil
		}
		if bad != nil {
			good = false
			if err := p.reject(rec, *bad); err != nil {
				return true, err
			}
		}
		p.ready = append(p.ready, row)
	}
	if !good {
		return false, p.noteID(rec)
	}
	faults, err := p.emit(rec, p.ready)
	for _, bad := range faults {
		err = errors.Join(err, p.reject(rec, bad))
	}
	return err != nil, err
}
