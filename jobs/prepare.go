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
	// TemplateLine and SystemLine are where they begin in those files, when those
	// have more in them.
	TemplateLine, SystemLine int
	// Files is the folder that rows name files in; empty takes the input's own.
	Files string
	// Tokens says what a file costs in input tokens, for Attachment.Tokens. Optional.
	Tokens func(mime string, content []byte) int64
	// Progress is told now and then how many rows were read.
	Progress func(rows int64)
}

// RenderedRow is one row as it will be sent.
type RenderedRow struct {
	ID     string          // as in results: with a matrix "id/value"
	Line   int             // where it begins in the input, from 1
	Fields json.RawMessage // one JSON object, in the file's order, matrix values last
	Request
	Key string // digest of all that makes the answer, 32 hex digits
}

// Prepared is an input that was read to its end and found good. Close it.
type Prepared struct {
	Spec   Spec
	Name   string // the input's name, for people
	Rows   int64
	Bytes  int64  // of the rows' fields
	Digest string // of what all rows share: templates, model, settings, id column, matrix
	Inputs string // of all rows' ids and keys, whatever their order

	in    Input
	src   *source
	tmpl  *Template
	files *fileFolder
	keys  []RowKey // of the rows, in their order
}

// Prepare reads all of the input and checks every row. Its error is an
// *InputError when the input is at fault; nothing is written anywhere.
func Prepare(ctx context.Context, in Input, spec Spec, o PrepareOptions) (*Prepared, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	tmpl, err := compile(spec, places{o.TemplateFile, o.SystemFile, o.TemplateLine, o.SystemLine})
	if err != nil {
		return nil, err
	}
	src, err := in.open()
	if err != nil {
		return nil, asInputError(err)
	}
	p := &Prepared{Spec: spec, Name: src.name, Digest: specDigest(spec), in: in, src: src, tmpl: tmpl}
	p.files = &fileFolder{dir: cmp.Or(o.Files, in.folder()), tokens: o.Tokens}
	if err := p.check(ctx, o); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
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
	bad := &problems{file: p.Name}
	seen := ids{}
	var all sum
	err := p.pass(ctx, bad, func(row RenderedRow) error {
		if was := seen.add(row.ID, row.Line); was > 0 {
			bad.add(Problem{Line: row.Line, Row: row.ID, What: fmt.Sprintf("the id was used in line %d already", was), Remedy: "each row needs an id of its own"})
			return nil
		}
		if o.Check != nil {
			if err := o.Check(row); err != nil {
				bad.add(checkProblem(row, err))
				return nil
			}
		}
		p.Rows++
		p.Bytes += int64(len(row.Fields))
		p.keys = append(p.keys, keyOf(row))
		all.add(row.ID, row.Key)
		if o.Progress != nil && p.Rows%1000 == 0 {
			o.Progress(p.Rows)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Rows == 0 && bad.list.Total == 0 {
		bad.add(Problem{What: "the input has no rows", Remedy: "check the command or file that it comes from"})
	}
	p.Inputs = hex.EncodeToString(all[:])
	return bad.err()
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

func (p *Prepared) pass(ctx context.Context, bad *problems, emit func(RenderedRow) error) error {
	one := pass{spec: p.Spec, tmpl: p.tmpl, axes: p.Spec.axes(), cells: cells(p.Spec.axes()), files: p.files, in: p.in, src: p.src, problems: bad, emit: emit}
	return one.run(ctx)
}

// Each reads the rows again, in input order. A file that is no longer what was
// checked is refused.
func (p *Prepared) Each(ctx context.Context, fn func(RenderedRow) error) error {
	if err := p.src.unchanged(); err != nil {
		return asInputError(err)
	}
	bad := &problems{file: p.Name}
	if err := p.pass(ctx, bad, fn); err != nil {
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
