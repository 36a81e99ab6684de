package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Braked says that a run's brake has tripped: see Halt.
type Braked struct {
	Run     Run
	Rule    string    // "same" or "fail": which part of the run's Halt
	Bad, Of int64     // so many bad rows of the last so many
	Cause   string    // why the last of them ended badly
	Row     string    // that row
	Message string    // what its result says
	At      time.Time // Redis's clock
	First   bool      // it tripped just now: the other calls only say so once more
}

// Sentence says why the run was stopped, with an example, without a full stop.
func (b Braked) Sentence() string {
	s := fmt.Sprintf("%d rows ended for one cause (%s) and no good one between", b.Bad, b.Cause)
	if b.Rule == "fail" {
		s = fmt.Sprintf("%d of the last %d rows have no good answer (brake %s), the last for %s", b.Bad, b.Of, b.Run.Spec.Halt, b.Cause)
	}
	if b.Row == "" {
		return s
	}
	s += fmt.Sprintf(", for example row %s", b.Row)
	if b.Message != "" {
		s += ": " + strings.TrimRight(b.Message, ".")
	}
	return s
}

// haltField is the brake in the run hash, as finish.lua reads it. A text that is
// none was refused by Prepare.
func haltField(text string) string {
	h, _ := ParseHalt(text)
	return fmt.Sprintf("%d %d %d", h.Same, h.SharePPM, h.Of)
}

// braked tells whoever stops runs. Without a word from the rows it is told all the
// same: it is the stopping that matters.
func (s *Store) braked(ctx context.Context, run, trip string, first bool) {
	if s.opts.Braked == nil {
		return
	}
	b, err := s.readBrake(ctx, run, trip)
	if err != nil {
		s.log.Warn("the run's brake has tripped; its example row cannot be read", "run", run, "err", err)
		b.Run.ID = run
	}
	b.First = first
	s.opts.Braked(ctx, b)
}

// Brake says whether a run's brake has tripped, and why.
func (s *Store) Brake(ctx context.Context, run string) (Braked, bool, error) {
	trip, err := s.rdb.HGet(ctx, brakeKey(run), "trip").Result()
	if err = orNil(err); err != nil || trip == "" {
		return Braked{}, false, err
	}
	b, err := s.readBrake(ctx, run, trip)
	return b, err == nil, err
}

// ReleaseBrake lets a run's brake count anew. What else keeps the run closed is
// not touched.
func (s *Store) ReleaseBrake(ctx context.Context, run string) error {
	return s.rdb.Del(ctx, brakeKey(run)).Err()
}

// readBrake reads what finish.lua wrote, and the row that it names.
func (s *Store) readBrake(ctx context.Context, run, trip string) (Braked, error) {
	var b Braked
	var index, ms int64
	if _, err := fmt.Sscanf(trip, "%s %d %d %d %d %s", &b.Rule, &b.Bad, &b.Of, &index, &ms, &b.Cause); err != nil {
		return b, fmt.Errorf("run %s: its brake's record %q cannot be read: %w", run, trip, err)
	}
	b.At = time.UnixMilli(ms).UTC()
	m, err := s.meta(ctx, run)
	if err != nil {
		return b, err
	}
	b.Run = m.Run
	st := s.stored(m)
	defer st.close()
	rows, err := st.fetch(ctx, []int64{index})
	if err != nil || len(rows) == 0 {
		return b, err
	}
	b.Row, b.Message = rows[0].row, rows[0].message()
	return b, nil
}

// message is what the row's result says of its end; "" where it says nothing.
func (r fetched) message() string {
	_, line, err := unpack(r.result)
	if err != nil {
		return ""
	}
	var res struct{ Error RowError }
	_ = json.Unmarshal(line, &res)
	return res.Error.Message
}
