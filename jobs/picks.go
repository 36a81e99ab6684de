package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Pick is what was decided about a field of a row.
type Pick byte

// The decisions.
const (
	Open     Pick = iota
	Accepted      // goes into the live data
	Rejected      // does not
)

// pickLen is a decision in Redis: the pick, then three bytes of a digest of the value
// that it was about. A row that was made again has another value, and is open again.
const pickLen = 4

// Picks are the decisions about a run's answers, in seven bytes a row and field.
type Picks struct {
	How   PickedBy
	field map[string][]byte
	live  map[string][]byte // three bytes a row: a digest of the live value that was compared; zeros: not known
}

// PickedBy is how rows were compared when it was decided, for who writes them out.
type PickedBy struct {
	Key string            `json:"key,omitempty"` // the live file's column with the ids
	Map map[string]string `json:"map,omitempty"` // its column by field

	Delimiter rune `json:"delimiter,omitempty"` // of CSV, where it was given
}

// Get is the decision about a difference.
func (p *Picks) Get(x Difference) Pick {
	b, at := p.field[x.Field], x.Index*pickLen
	if at+pickLen > int64(len(b)) || string(b[at+1:at+pickLen]) != string(sumOf(x.New)) {
		return Open
	}
	return Pick(b[at])
}

// Set decides. What is the same, missing or failed is nothing to decide about: false.
func (p *Picks) Set(x Difference, pick Pick) bool {
	if x.Change != Changed && x.Change != Added {
		return false
	}
	p.field[x.Field] = putAt(p.field[x.Field], x.Index*pickLen, append([]byte{byte(pick)}, sumOf(x.New)...))
	p.live[x.Field] = putAt(p.live[x.Field], x.Index*sumLen, liveSum(x))
	return true
}

// Stale says that the live value is another one than was decided about.
func (p *Picks) Stale(x Difference) bool {
	b, at := p.live[x.Field], x.Index*sumLen
	if at+sumLen > int64(len(b)) || string(b[at:at+sumLen]) == string(make([]byte, sumLen)) {
		return false
	}
	return string(b[at:at+sumLen]) != string(liveSum(x))
}

// liveSum goes by what a cell would have: the same value in a CSV file and in JSON is
// the same.
func liveSum(x Difference) []byte {
	if nothing(x.Live) {
		return sumOf(nil)
	}
	return sumOf([]byte(x.LiveText()))
}

// putAt writes part at a place of b, which grows as needed.
func putAt(b []byte, at int64, part []byte) []byte {
	if grow := at + int64(len(part)-len(b)); grow > 0 {
		b = append(b, make([]byte, grow)...)
	}
	copy(b[at:], part)
	return b
}

// sumLen is the length of a value's digest.
const sumLen = pickLen - 1

func sumOf(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	return sum[:sumLen]
}

const pickedBy = "="

// Picks reads the decisions about a run's answers.
func (s *Store) Picks(ctx context.Context, run string) (*Picks, error) {
	h, err := s.rdb.HGetAll(ctx, pickKey(run)).Result()
	if err != nil {
		return nil, fmt.Errorf("decisions: %w", err)
	}
	p := &Picks{field: map[string][]byte{}, live: map[string][]byte{}}
	for name, v := range h {
		if name == pickedBy {
			if err := json.Unmarshal([]byte(v), &p.How); err != nil {
				return nil, fmt.Errorf("decisions: %w", err)
			}
			continue
		}
		of := p.field
		if name[0] == 'l' {
			of = p.live
		}
		of[name[1:]] = []byte(v)
	}
	return p, nil
}

// SavePicks keeps decisions with the run; those of somebody who decides at the same
// time about the same fields are lost. ErrNoRun when it was purged.
func (s *Store) SavePicks(ctx context.Context, run string, p *Picks) error {
	if _, err := s.meta(ctx, run); err != nil {
		return err
	}
	how, err := json.Marshal(p.How)
	if err != nil {
		return err
	}
	args := []any{pickedBy, how}
	for name, b := range p.field {
		args = append(args, "f"+name, b, "l"+name, p.live[name])
	}
	return s.rdb.HSet(ctx, pickKey(run), args...).Err()
}

// Any says that something was accepted or rejected.
func (p *Picks) Any() bool { return len(p.field) > 0 }

// PickCount is how much was decided about a field, values that have changed since
// among it.
type PickCount struct {
	Field    string `json:"field"`
	Accepted int64  `json:"accepted"`
	Rejected int64  `json:"rejected"`
}

// Counts are by field, in the order of their names.
func (p *Picks) Counts() []PickCount {
	out := []PickCount{}
	for _, name := range slices.Sorted(maps.Keys(p.field)) {
		c := PickCount{Field: name}
		for at := 0; at+pickLen <= len(p.field[name]); at += pickLen {
			switch Pick(p.field[name][at]) {
			case Accepted:
				c.Accepted++
			case Rejected:
				c.Rejected++
			}
		}
		out = append(out, c)
	}
	return out
}
