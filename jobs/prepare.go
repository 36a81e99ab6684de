package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// PrepareOptions are what Prepare may ask of its caller.
type PrepareOptions struct {
	// Check judges a rendered row; its error becomes a problem of the row's
	// line (a *Problem keeps its field and remedy). The caller knows the model's
	// token limit, this package does not.
	Check func(RenderedRow) error
	// TemplateFile and SystemFile are what errors call the templates; empty
	// where they come from no file.
	TemplateFile, SystemFile string
	// Invalid is told of each bad row, in their order: those are left out then. Its
	// error ends the reading. Without it, one bad row refuses the input.
	Invalid func(InvalidRow) error
	// TemplateLine and SystemLine are where they begin in those files, when those
	// have more in them.
	TemplateLine, SystemLine int
	// Files is the folder that rows name files in; empty takes the input's own.
	Files string
	// Tokens says what a file costs in input tokens, for Attachment.Tokens. Optional.
	Tokens func(mime string, content []byte) int64
	// Model gives the model and the lane of a run whose Spec has no model: named is
	// what the first line of a batch file names, "" where it names none. Wanted for
	// those only.
	Model func(named string) (model, lane string, err error)
	// Progress is told now and then how many rows were read.
	Progress func(rows int64)
}

// RenderedRow is one row as it will be sent.
type RenderedRow struct {
	ID      string          // as in results: with a matrix "id/value"
	File    string          // of the input's files the one that it is in
	Line    int             // where it begins in that, from 1
	Element int             // of a JSON array, from 1
	Fields  json.RawMessage // one JSON object, in the file's order, matrix values last
	Request
	Key string // digest of all that makes the answer, 32 hex digits
}

// Prepared is an input that was read to its end and found good. Close it.
type Prepared struct {
	Spec    Spec
	Name    string // the input's name, for people
	Rows    int64
	Records int64  // rows of the input that Rows are made of: fewer, with a matrix
	LeftOut int64  // rows of the input that were bad and are not counted
	LeftIn  string // the file that has them, for people; the caller says it
	Mended  bool   // the input is one of rows that were left out of the run before
	Bytes   int64  // of the rows' fields
	Digest  string // of what all rows share: templates, model, settings, id column, matrix
	Inputs  string // of all rows' ids and keys, whatever their order

	in    Input
	src   sources
	kind  kind
	left  *leftOut
	tmpl  *Template
	files *fileFolder
	named *RenderedRow // the first line of a batch file, whose model all others must name; nil: the spec says the model
	keys  []RowKey     // of the rows, in their order

	picked []RenderedRow // these rows alone, see Pick; nil: all
}

// Prepare reads all of the input and checks every row. Its error is an
// *InputError when the input is at fault, ErrNoTemplate where it would need one;
// nothing is written anywhere.
func Prepare(ctx context.Context, in Input, spec Spec, o PrepareOptions) (*Prepared, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	if err := checkFolder(o.Files); err != nil {
		return nil, asInputError(err)
	}
	src, err := in.open()
	if err != nil {
		return nil, asInputError(err)
	}
	p := &Prepared{Spec: spec, Name: src.name(), in: in, src: src}
	p.files = &fileFolder{dir: cmp.Or(o.Files, src.folder()), tokens: o.Tokens}
	if err := p.prepare(ctx, o); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Prepared) prepare(ctx context.Context, o PrepareOptions) (err error) {
	if p.kind, err = p.sniff(ctx); err != nil && !p.Spec.hasTemplate() {
		return err
	}
	p.Mended, p.Spec.Lines = p.kind.mended, p.kind.lines
	switch {
	case p.Spec.Lines != "":
		p.Spec.IDColumn = lineID(p.Spec)
	case !p.Spec.hasTemplate():
		return ErrNoTemplate
	}
	if p.tmpl, err = compile(p.Spec, places{o.TemplateFile, o.SystemFile, o.TemplateLine, o.SystemLine}); err != nil {
		return err
	}
	if p.Spec.Lines != "" && p.Spec.Model == "" && o.Model != nil {
		if err := p.takeModel(ctx, o); err != nil {
			return err
		}
	}
	p.Digest = specDigest(p.Spec)
	if o.Invalid != nil {
		p.left = &leftOut{tell: o.Invalid}
	}
	return p.check(ctx, o)
}

// checkSpec refuses what would make every row fail.
func checkSpec(spec Spec) error {
	for _, s := range spec.EachSettings() {
		if len(s.ResponseSchema) == 0 {
			continue
		}
		if err := CheckSchema(s.ResponseSchema); err != nil {
			return fmt.Errorf("response schema: %w", err)
		}
	}
	if err := checkOutputs(spec); err != nil {
		return err
	}
	if err := CheckTier(spec.Kind, spec.Steer.ServiceTier); err != nil {
		return err
	}
	if _, err := ParseHalt(spec.Halt); err != nil {
		return fmt.Errorf("halt: %w", err)
	}
	if probs := checkMatrix(spec.Matrix); len(probs) > 0 {
		return &InputError{Problems: probs, Total: len(probs)}
	}
	return nil
}

func asInputError(err error) error {
	var p *Problem
	if errors.As(err, &p) {
		return &InputError{Problems: []Problem{*p}, Total: 1}
	}
	return err
}

// check is the first pass: problems, counts and digests.
func (p *Prepared) check(ctx context.Context, o PrepareOptions) error {
	bad := &problems{}
	c := checker{p: p, o: o}
	one := p.reader(bad, c.record)
	if p.left == nil { // a row that is left out has no id to take
		one.taken = c.seen.use
	}
	if err := one.run(ctx, p.src); err != nil {
		return err
	}
	p.Inputs = hex.EncodeToString(c.all[:])
	if p.left != nil {
		p.left.tell, p.LeftOut = nil, p.left.count()
	}
	if p.Rows == 0 && bad.list.Total == 0 {
		bad.add(Problem{File: p.Name, What: "no row of the input is valid", Remedy: "look at the first of those that were left out: they may all have the same fault"})
	}
	return bad.err()
}

// checker is what the first pass does with rows.
type checker struct {
	p    *Prepared
	o    PrepareOptions
	seen ids
	all  sum
}

// record counts a record's rows, if all of them are good.
func (c *checker) record(_ record, rows []RenderedRow) (bad []Problem, _ error) {
	for _, row := range rows {
		if taken := c.seen.use(row); taken != "" {
			bad = append(bad, takenID(row, taken))
		} else if err := c.check(row); err != nil {
			bad = append(bad, checkProblem(row, err))
		}
	}
	if len(bad) > 0 {
		return bad, nil
	}
	p := c.p
	p.Records++
	for _, row := range rows {
		p.Rows++
		p.Bytes += int64(len(row.Fields))
		p.keys = append(p.keys, keyOf(row))
		c.all.add(row.ID, row.Key)
		if c.o.Progress != nil && p.Rows%1000 == 0 {
			c.o.Progress(p.Rows)
		}
	}
	return nil, nil
}

func (c *checker) check(row RenderedRow) error {
	if err := c.p.sameModel(row); err != nil || c.o.Check == nil {
		return err
	}
	return c.o.Check(row)
}

func checkProblem(row RenderedRow, err error) Problem {
	var p *Problem
	if !errors.As(err, &p) {
		return Problem{Line: row.Line, Row: row.ID, What: err.Error()}
	}
	out := *p
	out.Line, out.Row = row.Line, row.ID
	return out
}

func (p *Prepared) pass(ctx context.Context, bad *problems, emit emitter) error {
	return p.reader(bad, emit).run(ctx, p.src)
}

func (p *Prepared) reader(bad *problems, emit emitter) *pass {
	return &pass{spec: p.Spec, tmpl: p.tmpl, axes: p.Spec.axes(), cells: cells(p.Spec.axes()), files: p.files, in: p.in, kind: p.kind, left: p.left, problems: bad, emit: emit}
}

// Each reads the rows again, in input order. A file that is no longer what was
// checked is refused.
func (p *Prepared) Each(ctx context.Context, fn func(RenderedRow) error) error {
	if p.picked != nil {
		return p.eachPicked(ctx, fn)
	}
	if err := p.src.unchanged(); err != nil {
		return asInputError(err)
	}
	bad := &problems{}
	err := p.pass(ctx, bad, func(_ record, rows []RenderedRow) ([]Problem, error) {
		for _, row := range rows {
			if err := fn(row); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	return bad.err()
}

// Close removes what was kept of standard input.
func (p *Prepared) Close() error { return cmp.Or(p.files.close(), p.src.close()) }

// specDigest is of everything that all rows share and that decides their
// answers or their ids.
func specDigest(spec Spec) string {
	shared := sharedDigest(spec.Kind, spec.Model, spec.Settings)
	all := []any{shared[:], spec.Template, spec.System, spec.idColumn(), spec.Matrix}
	if len(spec.Turns)+len(spec.Outputs) > 0 || spec.Lines != "" { // else the digest is what it always was
		all = append(all, spec.Turns, spec.Outputs, spec.Lines)
	}
	b, _ := json.Marshal(all)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// sum adds up digests of rows, so that their order does not matter.
type sum [16]byte

func (s *sum) add(id, key string) {
	d := digestOf(id + "\x00" + key)
	carry := 0
	for i := range s {
		n := int(s[i]) + int(d[i]) + carry
		s[i], carry = byte(n), n>>8
	}
}
