package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ChangedError says that the run of this name was made from something else.
// Nothing was changed; EnqueueOptions.Update accepts the difference.
type ChangedError struct {
	Run  Run
	What []string // "template", "system instruction", "model", "settings", …, "rows"

	New, Same, Changed, Removed int64 // rows, were the difference accepted
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("run %s was made from another %s: of the rows %s; --update redoes only what changed, another --name makes a second run",
		e.Run.Title(), strings.Join(e.What, ", "), e.difference())
}

// difference counts the rows by what would become of them.
func (e *ChangedError) difference() string {
	return fmt.Sprintf("%d new, %d changed, %d gone, %d the same", e.New, e.Changed, e.Removed, e.Same)
}

// accept refuses an enqueue that would change a run unasked.
func (s *Store) accept(ctx context.Context, m *meta, p *Prepared, update bool) error {
	if was, is := queueOf(m.Spec), queueOf(p.Spec); was != is {
		return fmt.Errorf("run %s is on queue %s, not on %s: a run keeps its lane and priority; take another --name", m.Title(), was, is)
	}
	if !p.Mended && (update || m.Digest == p.Digest && m.inputs == p.Inputs) {
		return nil
	}
	e := &ChangedError{Run: m.Run, What: differences(m.Spec, p.Spec)}
	if err := s.compare(ctx, *m, p, e); err != nil {
		return err
	}
	if p.Mended {
		m.mend(p, e)
	}
	if m.kept = m.Digest == p.Digest && !p.Mended && e.keeps(*m, p); m.kept {
		return nil
	}
	if update || m.Digest == p.Digest && e.adds(*m, p) {
		return nil
	}
	if m.inputs != p.Inputs && (m.Digest == p.Digest || e.New+e.Removed > 0) {
		e.What = append(e.What, "set of rows")
	}
	return e
}

// Refuses is the error with which an enqueue of p would be refused, one with update or
// one without; nil where there is none. Nothing is written.
func (s *Store) Refuses(ctx context.Context, p *Prepared, update bool) (refusal, err error) {
	m, known, err := s.namesake(ctx, p)
	if err != nil || !known {
		return nil, err
	}
	return s.accept(ctx, &m, p, update), nil
}

// namesake finds the run that an enqueue of p would go on with.
func (s *Store) namesake(ctx context.Context, p *Prepared) (m meta, known bool, err error) {
	id, err := s.rdb.HGet(ctx, keyNames, p.runName()).Result()
	if err != nil {
		return m, false, orNil(err)
	}
	m, err = s.meta(ctx, id)
	if errors.Is(err, ErrNoRun) {
		return m, false, nil
	}
	return m, err == nil, err
}

// runName is what the run of p is known by.
func (p *Prepared) runName() string {
	if p.Spec.Name != "" {
		return p.Spec.Name
	}
	return "=" + p.Digest + p.Inputs + queueOf(p.Spec)
}

// differences names the parts of two specs that decide answers and differ.
func differences(a, b Spec) []string {
	var out []string
	for _, d := range []struct {
		name string
		a, b any
	}{
		{"kind", a.Kind, b.Kind},
		{"model", a.Model, b.Model},
		{"template", a.Template, b.Template},
		{"system instruction", a.System, b.System},
		{"turns", encoded(a.Turns), encoded(b.Turns)},
		{"batch format", a.Lines, b.Lines},
		{"settings", encoded(a.Settings), encoded(b.Settings)},
		{"id column", a.idColumn(), b.idColumn()},
		{"matrix", encoded(a.Matrix), encoded(b.Matrix)},
	} {
		if !reflect.DeepEqual(d.a, d.b) {
			out = append(out, d.name)
		}
	}
	for _, part := range outputDifferences(a.Outputs, b.Outputs) {
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// compare counts what Update would do.
func (s *Store) compare(ctx context.Context, m meta, p *Prepared, e *ChangedError) error {
	err := s.eachCode(ctx, m, p, func(_ RowKey, code byte) {
		switch {
		case code == 0:
			e.New++
		case code&changedBit != 0:
			e.Changed++
		default:
			e.Same++
		}
	})
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	e.Removed = m.Rows - e.Same - e.Changed
	return nil
}
