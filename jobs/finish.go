package jobs

import (
	"context"
	"encoding/json"
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
	sum   string // of the row's id and fields, see fieldsSum
	tries int    // Result.Attempts
	paid  int64  // micro-dollars, Result.MicroUSD
	value []byte // state and line
	good  string // see goodEnd

	fresh *string // takes the row's id and fields where they were changed meanwhile; may be nil
}

// Finish gives a row its end, r.Status, and stores r, in one step. False says
// that the row had its end already or that a newer generation has taken over: r
// was not kept. An open row is finished by its own generation, whichever open
// state it is in; a row that was cancelled while in flight takes a good result
// that comes late, since it was paid for.
func (s *Store) Finish(ctx context.Context, t Task, r Result) (bool, error) {
	kept, _, err := s.FinishAs(ctx, t, r)
	return kept, err
}

// FinishAs is Finish for who gives the result to others too: fields is nil, or the
// row's own, where an update of the run has changed them since the row was begun. The
// result is stored with these.
func (s *Store) FinishAs(ctx context.Context, t Task, r Result) (kept bool, fields json.RawMessage, err error) {
	if r.Finished.IsZero() {
		r.Finished = s.now().UTC()
	}
	e, err := endOf(t, r)
	if err != nil {
		return false, nil, fmt.Errorf("finish %s: %w", t.ID(), err)
	}
	e.fresh = new(string)
	kept, err = s.endings.do(ctx, t.Run, e)
	if _, now, ok := strings.Cut(*e.fresh, "\x00"); ok && err == nil {
		fields = json.RawMessage(now)
	}
	return kept, fields, err
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
	e.tries, e.sum = r.Attempts, fieldsSum(r.Row+"\x00"+string(r.Fields))
	if r.MicroUSD != nil {
		e.paid = *r.MicroUSD
	}
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

// finishTries is how often rows are tried whose fields change again and again.
const finishTries = 5

// finishAll gives rows their ends. Where an update has given a row other fields since
// its result was made, the result carries those.
func (s *Store) finishAll(ctx context.Context, run string, es []ending) ([]bool, error) {
	res := make([]bool, len(es))
	left := make([]int, len(es))
	for i := range es {
		left[i] = i
	}
	for range finishTries {
		out, err := s.finishSome(ctx, run, es, left)
		if err != nil {
			return nil, fmt.Errorf("finish: %w", err)
		}
		var ended EndedWaits
		for k, i := range left {
			if _, older := out[k].(string); !older && integer(out[k]) == 1 {
				res[i] = true
				ended.take(es[i])
			}
		}
		s.tellWaits(ctx, run, ended)
		again := left[:0]
		for k, i := range left {
			fresh, older := out[k].(string)
			if !older {
				continue
			}
			if err := es[i].take(fresh); err != nil {
				return nil, fmt.Errorf("finish %s: %w", es[i].ID(), err)
			}
			again = append(again, i)
		}
		if left = again; len(left) == 0 {
			return res, nil
		}
	}
	return nil, fmt.Errorf("finish %s: its fields are changed all the time", es[left[0]].ID())
}

// finishSome runs the script for some of es, and says what it answered for each.
func (s *Store) finishSome(ctx context.Context, run string, es []ending, some []int) ([]any, error) {
	args := make([]any, 0, 1+11*len(some))
	args = append(args, runPrefix(run))
	for _, i := range some {
		e, drop := es[i], "0"
		if e.drop {
			drop = "1"
		}
		args = append(args, e.Index, e.Gen, int(e.state), drop, e.cause, e.good, e.waits, e.sum, e.tries, e.paid, e.value)
	}
	keys := []string{countKey(run), endKey(run), runKey(run), brakeKey(run), goodKey(run)}
	out, err := s.call(ctx, finishScript, keys, args, len(some)+2)
	if err != nil {
		return nil, err
	}
	if trip := str(out[len(some)]); trip != "" {
		s.braked(ctx, run, trip, integer(out[len(some)+1]) == 1)
	}
	return out[:len(some)], nil
}

// take makes the result carry these: "row id NUL fields".
func (e *ending) take(fresh string) error {
	_, line, err := unpack(string(e.value))
	if err != nil {
		return err
	}
	_, fields, _ := strings.Cut(fresh, "\x00")
	if line, err = withFields(line, fields); err != nil {
		return err
	}
	e.value, e.drop, e.sum = pack(e.state, line), true, fieldsSum(fresh)
	if e.fresh != nil {
		*e.fresh = fresh
	}
	return nil
}
