package jobs

import (
	"context"
	"fmt"
	"strings"
)

// ending is one row's end, ready to be stored.
type ending struct {
	Task
	state State
	drop  bool   // the result carries the fields
	cause string // why it ended badly; "" for a good end
	waits string // Waits.encode
	value []byte // state and line
	good  string // see goodEnd
}

// Finish gives a row its end, r.Status, and stores r, in one step. False says
// that the row had its end already or that a newer generation has taken over: r
// was not kept. An open row is finished by its own generation, whichever open
// state it is in; a row that was cancelled while in flight takes a good result
// that comes late, since it was paid for.
func (s *Store) Finish(ctx context.Context, t Task, r Result) (bool, error) {
	if r.Finished.IsZero() {
		r.Finished = s.now().UTC()
	}
	e, err := endOf(t, r)
	if err != nil {
		return false, fmt.Errorf("finish %s: %w", t.ID(), err)
	}
	return s.endings.do(ctx, t.Run, e)
}

// endOf makes a result ready to be stored.
func endOf(t Task, r Result) (ending, error) {
	e := ending{Task: t, state: ParseState(r.Status)}
	if !e.state.Terminal() || e.state == Cancelled {
		return e, fmt.Errorf("%q is no end that a handler gives", r.Status)
	}
	r.Run, r.Index = t.Run, t.Index
	line, err := r.Line()
	if err != nil {
		return e, err
	}
	e.value, e.drop, e.cause, e.good = pack(e.state, line), len(r.Fields) > 0, causeOf(r, e.state), goodEnd(r, e.state)
	if e.state != Cached { // what it says was waited for the answer's first row
		e.waits = WaitsOf(r.WaitsMS).encode()
	}
	return e, nil
}

// causeOf is what the brake counts a bad end under: one word.
func causeOf(r Result, s State) string {
	switch {
	case s.Good():
		return ""
	case r.Error == nil || r.Error.Cause == "":
		return s.String()
	}
	return strings.Join(strings.Fields(r.Error.Cause), "_")
}

func (s *Store) finishAll(ctx context.Context, run string, es []ending) ([]bool, error) {
	args := make([]any, 0, 1+8*len(es))
	args = append(args, runPrefix(run))
	for _, e := range es {
		drop := "0"
		if e.drop {
			drop = "1"
		}
		args = append(args, e.Index, e.Gen, int(e.state), drop, e.cause, e.good, e.waits, e.value)
	}
	keys := []string{countKey(run), endKey(run), runKey(run), brakeKey(run), goodKey(run)}
	out, err := s.call(ctx, finishScript, keys, args, len(es)+2)
	if err != nil {
		return nil, fmt.Errorf("finish: %w", err)
	}
	if trip := str(out[len(es)]); trip != "" {
		s.braked(ctx, run, trip, integer(out[len(es)+1]) == 1)
	}
	res := make([]bool, len(es))
	for i := range es {
		res[i] = integer(out[i]) == 1
	}
	return res, nil
}
