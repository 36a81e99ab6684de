package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LookUpOptions are where LookUp looks.
type LookUpOptions struct {
	Keep  time.Duration // answers older than this do not count; 0: any age
	Files []string      // results files to look in too, after the runs; one that is not there is passed over
}

// Lookup says of an input's rows which have a good result of the same key
// already, and where. It has read nothing but keys: what it found may have been
// removed when it is to be taken over, and then the row is asked anew.
type Lookup struct {
	Same   int64 // rows that have one which can be taken over
	Twins  int64 // rows whose key an earlier row of the input has: the same question under another id
	Unseen []Unseen

	table  *keyTable
	places []place
	found  []foundRow // by row
}

// Unseen says that good results of rows are in files that this process does not
// see. These rows are not in Lookup.Same.
type Unseen struct {
	Run  Run
	Host string
	Dir  string
	Rows int64
}

// Taken is how many rows' results come from one place.
type Taken struct {
	Run  Run    // the zero Run for a file
	File string // a results file; "" for a run
	Rows int64
}

// Title names the place for people.
func (t Taken) Title() string { return cmp.Or(t.File, t.Run.Title()) }

// foundRow is where a row's result is: in a place, by index or by line.
type foundRow struct {
	place  uint32 // from 1; 0: none was found
	index  uint32
	exact  bool // of a row of the same id
	unseen bool
}

// place is a run or a file that has results.
type place struct {
	meta         // of a run
	file  string // else
	files *DrainedElsewhereError
	heads []*chunk // of a run with files that are not to be seen
	rows  int64
	away  int64 // rows of it that are in such files
}

// LookUp finds, for each row of p, a good result of the same key: of a run of the
// same project and tenant, the latest first, else of a file. Of several a row of
// the same id is preferred. Nothing is written.
func (s *Store) LookUp(ctx context.Context, p *Prepared, o LookUpOptions) (*Lookup, error) {
	l := newLookup(p)
	if err := s.likeRuns(ctx, p.Spec, l); err != nil {
		return nil, fmt.Errorf("looking for results of the same rows: %w", err)
	}
	return l, s.searchAll(ctx, l, o, s.now())
}

// LookUpFiles is LookUp where there are results files alone.
func LookUpFiles(ctx context.Context, p *Prepared, o LookUpOptions) (*Lookup, error) {
	l := newLookup(p)
	var none *Store // is asked about runs only
	return l, none.searchAll(ctx, l, o, time.Now())
}

// Repeats counts the rows that ask the same as an earlier row of the input and have no
// answer to take over (l, which may be nil): each of them is called for.
func (p *Prepared) Repeats(l *Lookup) (n int64) {
	if l == nil {
		return newKeyTable(p.keys).twins
	}
	for i, k := range l.table.rows {
		if *l.table.slot(k.short()) != uint32(i+1) && l.found[i].place == 0 {
			n++
		}
	}
	return n
}

func newLookup(p *Prepared) *Lookup {
	l := &Lookup{table: newKeyTable(p.keys), found: make([]foundRow, len(p.keys))}
	l.Twins = l.table.twins
	return l
}

// searchAll goes through the runs that were found, then through files; then through
// what is in files that are not to be seen.
func (s *Store) searchAll(ctx context.Context, l *Lookup, o LookUpOptions, now time.Time) error {
	oldest := uint32(0)
	if o.Keep > 0 {
		oldest = uint32(max(now.Add(-o.Keep).Unix(), 0))
	}
	for _, name := range o.Files {
		l.places = append(l.places, place{file: name})
	}
	for _, away := range []bool{false, true} {
		for i := range l.places {
			if err := s.search(ctx, l, i, oldest, away); err != nil {
				return fmt.Errorf("looking for results of the same rows: %w", err)
			}
		}
	}
	l.sumUp()
	return nil
}

// likeRuns are those whose answers spec's rows may take over, the latest first.
func (s *Store) likeRuns(ctx context.Context, spec Spec, l *Lookup) error {
	runs, err := s.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if !sharesAnswers(r.Spec, spec) {
			continue
		}
		m, err := s.meta(ctx, r.ID)
		if errors.Is(err, ErrNoRun) {
			continue
		}
		if err != nil {
			return err
		}
		at := place{meta: m}
		if _, err := s.drainedDir(m); err != nil && !errors.As(err, &at.files) {
			return err
		}
		if at.files != nil {
			if at.heads, err = s.heads(ctx, m.ID, 0, m.next/rowsPerFold+1); err != nil {
				return err
			}
		}
		l.places = append(l.places, at)
	}
	return nil
}

// sharesAnswers says that two runs are of one project, one tenant path and one
// place that answers. All else that makes an answer is in the rows' keys.
func sharesAnswers(a, b Spec) bool {
	return a.Organization == b.Organization && a.Tenant == b.Tenant && a.Team == b.Team && a.API == b.API && projectOf(a.Lane) == projectOf(b.Lane)
}

// projectOf is a lane's provider/project.
func projectOf(lane string) string {
	p := strings.SplitN(lane, "/", 3)
	return strings.Join(p[:min(len(p), 2)], "/")
}

// search goes through one place's good rows; away looks at those only whose
// results are in files that are not to be seen.
func (s *Store) search(ctx context.Context, l *Lookup, at int, oldest uint32, away bool) error {
	p := &l.places[at]
	if l.complete() || away && p.files == nil {
		return nil
	}
	see := func(g goodRow) {
		if g.made >= oldest && p.hidden(g.index) == away {
			l.match(g, uint32(at+1), away)
		}
	}
	if p.file != "" {
		return eachGoodLine(ctx, p.file, see)
	}
	return s.eachGood(ctx, p.ID, see)
}

// hidden says that a row's result is in files alone that this process does not see.
func (p *place) hidden(index uint32) bool {
	if p.files == nil || int(index/rowsPerFold) >= len(p.heads) {
		return false
	}
	f := p.heads[index/rowsPerFold].flags[index%rowsPerFold]
	return f&inFiles != 0 && f&inFrame == 0 && f&stateBits != 0
}

// goodPiece is how many good rows are read at once: 1 MB.
const goodPiece = 50_000

func (s *Store) eachGood(ctx context.Context, run string, fn func(goodRow)) error {
	const piece = goodPiece * goodRowLen
	for from := int64(0); ; from += piece {
		b, err := s.rdb.GetRange(ctx, goodKey(run), from, from+piece-1).Bytes()
		if err != nil {
			return err
		}
		for at := 0; at+goodRowLen <= len(b); at += goodRowLen {
			fn(readGoodRow(b[at:]))
		}
		if len(b) < piece {
			return nil
		}
	}
}

// match notes a good row for the input's rows of its key: for the one of its id,
// else for one that has none yet.
func (l *Lookup) match(g goodRow, place uint32, unseen bool) {
	free := uint32(0)
	for n := *l.table.slot(g.key); n > 0; n = l.table.next[n-1] {
		f := &l.found[n-1]
		if l.table.rows[n-1].tag() == g.id {
			// What ended later in the same run counts.
			if f.place == 0 || !unseen && (!f.exact || f.place == place) {
				l.note(f, foundRow{place, g.index, true, unseen})
			}
			return
		}
		if f.place == 0 && free == 0 {
			free = n
		}
	}
	if free > 0 {
		l.note(&l.found[free-1], foundRow{place, g.index, false, unseen})
	}
}

func (l *Lookup) note(f *foundRow, now foundRow) {
	if f.place == 0 {
		l.Same++ // so that complete may stop the search; sumUp takes unseen ones out
	}
	*f = now
}

// complete says that every row has a result of its own id or key.
func (l *Lookup) complete() bool { return l.Same == int64(len(l.found)) }

// sumUp lends results to rows of the same key that have none of their own, and
// counts by place.
func (l *Lookup) sumUp() {
	l.Same = 0
	for i := range l.found {
		f := &l.found[i]
		if f.place == 0 {
			*f = l.twin(uint32(i + 1))
		}
		switch {
		case f.place == 0:
		case f.unseen:
			l.places[f.place-1].away++
		default:
			l.places[f.place-1].rows++
			l.Same++
		}
	}
	for _, p := range l.places {
		if p.away > 0 {
			l.Unseen = append(l.Unseen, Unseen{Run: p.Run, Host: p.files.Host, Dir: p.files.Dir, Rows: p.away})
		}
	}
}

// twin is what another row of the same key found.
func (l *Lookup) twin(n uint32) foundRow {
	for other := *l.table.slot(l.table.rows[n-1].short()); other > 0; other = l.table.next[other-1] {
		if f := l.found[other-1]; f.place > 0 && l.table.rows[other-1].key == l.table.rows[n-1].key {
			f.exact = false
			return f
		}
	}
	return foundRow{}
}

// From says which places have the results that can be taken over, the one with
// the most rows first.
func (l *Lookup) From() []Taken {
	var out []Taken
	for _, p := range l.places {
		if p.rows > 0 {
			out = append(out, Taken{p.Run, p.file, p.rows})
		}
	}
	slices.SortStableFunc(out, func(a, b Taken) int { return cmp.Compare(b.Rows, a.Rows) })
	return out
}

// Of says where a row's result is; false for one that has to be asked.
func (l *Lookup) Of(row RenderedRow) (Taken, bool) {
	n := l.row(keyOf(row))
	if n == 0 {
		return Taken{}, false
	}
	p := l.places[l.found[n-1].place-1]
	return Taken{p.Run, p.file, p.rows}, true
}

// row is the number of a row whose result can be taken over; 0 for others.
func (l *Lookup) row(k RowKey) uint32 {
	if l == nil {
		return 0
	}
	n := l.table.of(k)
	if n == 0 || l.found[n-1].place == 0 || l.found[n-1].unseen {
		return 0
	}
	return n
}
