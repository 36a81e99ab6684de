package jobs

import (
	"context"
	"errors"
	"fmt"
)

// errFirst ends a reading that wanted one row.
var errFirst = errors.New("the first row is read")

// takeModel asks for the model that the first good line names.
func (p *Prepared) takeModel(ctx context.Context, o PrepareOptions) error {
	bad := &problems{}
	err := p.pass(ctx, bad, func(_ record, rows []RenderedRow) ([]Problem, error) {
		p.named = &RenderedRow{File: rows[0].File, Line: rows[0].Line, Request: Request{Model: rows[0].Model}}
		return nil, errFirst
	})
	switch {
	case p.named == nil && err == nil:
		return bad.err() // all lines are bad, and the reason is known
	case !errors.Is(err, errFirst):
		return err
	}
	if p.Spec.Model, p.Spec.Lane, err = o.Model(p.named.Model); err != nil {
		return err
	}
	p.tmpl.model = p.Spec.Model
	return nil
}

// sameModel refuses a line that names another model than the first: a run has one.
func (p *Prepared) sameModel(row RenderedRow) error {
	if p.named == nil || row.Model == p.named.Model {
		return nil
	}
	field := lineMembers[p.Spec.Lines].request + ".model"
	return &Problem{
		Field: field, What: fmt.Sprintf("%q, but line %d has %q: all lines of a run have one model", row.Model, p.named.Line, p.named.Model),
		Remedy: "make a run of each model's lines, or give --model for all of them",
	}
}
