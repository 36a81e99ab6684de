package jobs

import (
	"context"
	"encoding/json"
)

// PrepareOptions are what Prepare may ask of its caller.
type PrepareOptions struct {
	// Check judges a rendered row; its error becomes a problem of the row's
	// line. The caller knows the model's token limit, this package does not.
	Check func(RenderedRow) error
	// Progress is told now and then how many rows were read.
	Progress func(rows int64)
}

// RenderedRow is one row as it will be sent.
type RenderedRow struct {
	ID     string          // as in results: with --matrix "id/value"
	Line   int             // where it begins in the input, from 1
	Fields json.RawMessage // one JSON object, in the file's order, matrix values last
	Prompt string
	System string
	Key    string // digest of all that makes the answer, 32 hex digits
}

// Prepared is an input that was read to its end and found good. Close it.
type Prepared struct {
	Spec   Spec
	Name   string // the input's name, for people
	Rows   int64
	Bytes  int64  // of the rows' fields
	Digest string // of what all rows share: template, system instruction, model, settings
	Inputs string // of all rows, whatever their order
}

// Prepare reads all of the input and checks every row. Its error is an
// *InputError when the input is at fault; nothing is written anywhere.
func Prepare(ctx context.Context, in Input, spec Spec, o PrepareOptions) (*Prepared, error) {
	panic("being built")
}

// Each reads the rows again, in input order.
func (p *Prepared) Each(ctx context.Context, fn func(RenderedRow) error) error { panic("being built") }

// Close removes what was kept of standard input.
func (p *Prepared) Close() error { panic("being built") }
