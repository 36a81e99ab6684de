package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Stand says how an input's rows stand to what was done before: each row is in
// one of New, Same, Unseen, Open, Failed and Stale.
type Stand struct {
	Earlier Run   // the run that rows are compared with; zero: there is none
	New     int64 // rows whose id it does not have
	Same    int64 // rows with a good answer to the same question, of whichever run (Lookup.Same)
	Unseen  int64 // the same, in files that are not to be seen
	Open    int64 // it asks the same, and the row has not ended
	Failed  int64 // it asked the same, and the row has ended without a good answer: only Retry asks again
	Stale   int64 // it asked something else for that id
	Why     []StaleWhy
}

// StaleWhy is why rows are stale: "template", "model", "settings", … of the run
// differ, else "its file photo.png changed" and "the rows' fields".
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
	if what := slices.DeleteFunc(differences(m.Spec, p.Spec), func(d string) bool { return d == "id column" || d == "matrix" }); len(what) > 0 {
		st.Why = nil
		if st.Stale > 0 {
			st.Why = []StaleWhy{{strings.Join(what, ", "), st.Stale}}
		}
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

// standAll asks the ledger for the rows that nothing is taken over for, and says why
// rows are stale where the run's settings are not.
func (s *Store) standAll(ctx context.Context, m meta, p *Prepared, l *Lookup, st *Stand) error {
	var files changedFiles
	err := s.eachCompared(ctx, m, p, !wholeRows, func(rows []besideRow) error {
		var stale [][]Attachment
		for _, r := range rows {
			switch {
			case l.has(r.key):
			case r.code == 0:
				st.New++
			case r.code&changedBit != 0:
				st.Stale++
				stale = append(stale, r.files)
			case State(r.code).Terminal() && !State(r.code).Good():
				st.Failed++
			default:
				st.Open++
			}
		}
		paths, err := s.changedFiles(ctx, m.ID, stale)
		files.add(paths)
		return err
	})
	if err == nil {
		st.Why = files.why(st.Stale)
	}
	return err
}

// changedFiles counts stale rows by whether a file of theirs has changed.
type changedFiles struct {
	rows  int64
	first string // path
	more  bool   // other files too
}

func (c *changedFiles) add(paths []string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		c.rows++
		c.more = c.more || c.first != "" && c.first != path
		c.first = cmp.Or(c.first, path)
	}
}

// why says it of so many rows.
func (c *changedFiles) why(stale int64) (out []StaleWhy) {
	if c.rows > 0 {
		what := fmt.Sprintf("its file %.200s changed", c.first)
		if c.more {
			what = fmt.Sprintf("files changed, %.200s first", c.first)
		}
		out = append(out, StaleWhy{what, c.rows})
	}
	if stale > c.rows {
		out = append(out, StaleWhy{"the rows' fields", stale - c.rows})
	}
	return out
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

// besideRow is a row beside an earlier run.
type besideRow struct {
	key   RowKey
	code  byte
	index int64
	files []Attachment // which the row names, without their contents
	row   RenderedRow  // only with wholeRows
}

// wholeRows as eachCompared's whole gives the rows themselves too.
const wholeRows = true

// eachCode gives, for each row of p, what compare.lua says of it.
func (s *Store) eachCode(ctx context.Context, m meta, p *Prepared, fn func(RowKey, byte)) error {
	return s.eachCompared(ctx, m, p, !wholeRows, func(rows []besideRow) error {
		for _, r := range rows {
			fn(r.key, r.code)
		}
		return nil
	})
}

// eachCompared gives the rows of p, many at a time.
func (s *Store) eachCompared(ctx context.Context, m meta, p *Prepared, whole bool, fn func([]besideRow) error) error {
	const batch, each = 1000, 5
	args := make([]any, 0, 2+batch)
	var rows []besideRow
	ask := func() error {
		codes, err := compareScript.Run(ctx, s.rdb, []string{runKey(m.ID)}, args...).Text()
		if err == nil && len(codes) != each*len(rows) {
			err = fmt.Errorf("script answered %d bytes for %d rows", len(codes), len(rows))
		}
		if err != nil {
			return err
		}
		for i := range rows {
			at := codes[each*i:]
			rows[i].code, rows[i].index = at[0], int64(binary.BigEndian.Uint32([]byte(at[1:each])))
		}
		err = fn(rows)
		args, rows = append(args[:0], runPrefix(m.ID), m.shards), rows[:0]
		return err
	}
	args = append(args, runPrefix(m.ID), m.shards)
	err := p.Each(ctx, func(row RenderedRow) error {
		ids, err := idAndKey(row)
		if err != nil {
			return err
		}
		beside := besideRow{key: keyOf(row), files: filesNamed(row)}
		if whole {
			beside.row = RenderedRow{ID: row.ID, Fields: bytes.Clone(row.Fields)}
		}
		args, rows = append(args, ids), append(rows, beside)
		if len(rows) < batch {
			return nil
		}
		return ask()
	})
	if err == nil && len(rows) > 0 {
		err = ask()
	}
	return err
}

// filesNamed are the files that a row names; what a data: URI has is in its fields.
func filesNamed(row RenderedRow) (out []Attachment) {
	for f := range row.Files() {
		if !strings.HasPrefix(f.Path, "data:") {
			out = append(out, Attachment{Path: f.Path, Digest: f.Digest})
		}
	}
	return out
}
