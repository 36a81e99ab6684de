package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Stand says how an input's rows stand to what was done before: each row is in
// one of New, Same, Unseen, Open and Stale.
type Stand struct {
	Earlier Run   // the run that rows are compared with; zero: there is none
	New     int64 // rows whose id it does not have
	Same    int64 // rows with a good answer to the same question, of whichever run (Lookup.Same)
	Unseen  int64 // the same, in files that are not to be seen
	Open    int64 // it asks, or asked, the same and has no good answer: open, failed, …
	Stale   int64 // it asked something else for that id
	Why     []StaleWhy
}

// StaleWhy is why rows are stale: "template", "model", "settings", … of the run
// differ, else "the rows' fields".
type StaleWhy struct {
	What string
	Rows int64
}

// Stand compares p's rows with the earlier run of the same name, else the latest
// one of the same project and tenant that was made from an input of the same name.
// l is what LookUp found, nil when nothing is to be taken over. Nothing is written.
func (s *Store) Stand(ctx context.Context, p *Prepared, l *Lookup) (Stand, error) {
	m, err := s.earlier(ctx, p)
	if err != nil {
		return Stand{}, err
	}
	st := Stand{Earlier: m.Run}
	if l != nil {
		st.Same = l.Same
		for _, u := range l.Unseen {
			st.Unseen += u.Rows
		}
	}
	if m.ID == "" {
		st.New = p.Rows - st.Same - st.Unseen
		return st, nil
	}
	if err := s.standAll(ctx, m, p, l, &st); err != nil {
		return st, fmt.Errorf("comparing with run %s: %w", m.Title(), err)
	}
	if st.Stale > 0 {
		what := slices.DeleteFunc(differences(m.Spec, p.Spec), func(d string) bool { return d == "id column" || d == "matrix" })
		if len(what) == 0 {
			what = []string{"the rows' fields"}
		}
		st.Why = []StaleWhy{{strings.Join(what, ", "), st.Stale}}
	}
	return st, nil
}

// earlier finds the run to compare with; the zero meta when there is none.
func (s *Store) earlier(ctx context.Context, p *Prepared) (meta, error) {
	runs, err := s.Runs(ctx)
	if err != nil {
		return meta{}, err
	}
	best := ""
	for _, r := range runs {
		if r.Spec.Name != "" && r.Spec.Name == p.Spec.Name {
			best = r.ID
			break
		}
		if best == "" && r.Input == p.Name && sharesAnswers(r.Spec, p.Spec) {
			best = r.ID
		}
	}
	if best == "" {
		return meta{}, nil
	}
	m, err := s.meta(ctx, best)
	if errors.Is(err, ErrNoRun) {
		return meta{}, nil
	}
	return m, err
}

// standAll asks the ledger for the rows that nothing is taken over for.
func (s *Store) standAll(ctx context.Context, m meta, p *Prepared, l *Lookup, st *Stand) error {
	return s.eachCode(ctx, m, p, func(k RowKey, code byte) {
		switch {
		case l.has(k):
		case code == 0:
			st.New++
		case code&changedBit != 0:
			st.Stale++
		default:
			st.Open++
		}
	})
}

// has says that a row has a good answer somewhere, to be seen or not.
func (l *Lookup) has(k RowKey) bool {
	if l == nil {
		return false
	}
	n := l.table.of(k)
	return n > 0 && l.found[n-1].place > 0
}

// changedBit marks a row that is known with another key; the other bits are its
// state, 0 for one that the run does not have.
const changedBit = 0x40

// eachCode gives, for each row of p, what compare.lua says of it.
func (s *Store) eachCode(ctx context.Context, m meta, p *Prepared, fn func(RowKey, byte)) error {
	const batch = 1000
	args := make([]any, 0, 2+batch)
	var keys []RowKey
	ask := func() error {
		codes, err := compareScript.Run(ctx, s.rdb, []string{runKey(m.ID)}, args...).Text()
		if err == nil && len(codes) != len(keys) {
			err = fmt.Errorf("script answered %d codes for %d rows", len(codes), len(keys))
		}
		for i := 0; err == nil && i < len(keys); i++ {
			fn(keys[i], codes[i])
		}
		args, keys = append(args[:0], runPrefix(m.ID), m.shards), keys[:0]
		return err
	}
	args = append(args, runPrefix(m.ID), m.shards)
	err := p.Each(ctx, func(row RenderedRow) error {
		ids, err := idAndKey(row)
		if err != nil {
			return err
		}
		args, keys = append(args, ids), append(keys, keyOf(row))
		if len(keys) < batch {
			return nil
		}
		return ask()
	})
	if err == nil && len(keys) > 0 {
		err = ask()
	}
	return err
}
