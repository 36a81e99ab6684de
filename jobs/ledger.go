package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Outcome is what a handler is to do with its task.
type Outcome int

// The outcomes of Begin.
const (
	Proceed          Outcome = iota // the row is Running now and is this handler's
	OutcomeFinished                 // the row has its end already: acknowledge
	OutcomeStale                    // a newer generation has taken over, or the row left the run: acknowledge
	OutcomeCancelled                // the run was cancelled: acknowledge
)

// Begun is what the ledger says to a handler that starts.
type Begun struct {
	Outcome Outcome
	From    State           // the state it was in; Running after a worker died
	Row     string          // the id the user knows
	Fields  json.RawMessage // one JSON object; what the template is rendered from
	Digest  string          // the run's Stamp, now: a run that was loaded with another has been updated since, load it again
	MaxWait time.Duration   // the run's, now; 0 is none
	Late    time.Duration   // since the deadline that stops the run, by Redis's clock; 0 before it, and without one
	Waited  time.Duration   // since the row was enqueued, in whole seconds of Redis's clock; 0 when MaxWait is
}

// Begin moves a row to Running. Calls that come at the same time share a
// script.
func (s *Store) Begin(ctx context.Context, t Task) (Begun, error) {
	b, err := s.begins.do(ctx, t.Run, t)
	if err == nil && b.Outcome == outcomeLost {
		err = fmt.Errorf("row %s: its fields are gone from Redis: enqueue the run again with --update", t.ID())
	}
	return b, err
}

const outcomeLost Outcome = 4

func (s *Store) beginAll(ctx context.Context, run string, ts []Task) ([]Begun, error) {
	args := make([]any, 0, 1+2*len(ts))
	args = append(args, runPrefix(run))
	for _, t := range ts {
		args = append(args, t.Index, t.Gen)
	}
	out, err := s.call(ctx, beginScript, []string{countKey(run), runKey(run)}, args, 3+4*len(ts))
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	digest, most, late := str(out[0]), seconds(out[1]), time.Duration(integer(out[2]))*time.Millisecond
	res := make([]Begun, len(ts))
	for i := range ts {
		o := out[3+4*i : 7+4*i]
		row, fields, _ := strings.Cut(str(o[2]), "\x00")
		res[i] = Begun{Outcome: Outcome(integer(o[0])), From: State(integer(o[1])), Row: row, Fields: json.RawMessage(fields),
			Digest: digest, MaxWait: most, Late: late, Waited: seconds(o[3])}
	}
	return res, nil
}

func seconds(v any) time.Duration { return time.Duration(integer(v)) * time.Second }

// move is one row's change between two open states.
type move struct {
	Task
	from, to State
}

// Wait moves a row from Running to Waiting: it was refused a permit. A row that
// is no longer Running, or of another generation, is left alone.
func (s *Store) Wait(ctx context.Context, t Task) error {
	_, err := s.moves.do(ctx, t.Run, move{t, Running, Waiting})
	return err
}

// RetryWait moves a row from Running to RetryWait: it failed and will be tried
// again. Otherwise like Wait.
func (s *Store) RetryWait(ctx context.Context, t Task) error {
	_, err := s.moves.do(ctx, t.Run, move{t, Running, RetryWait})
	return err
}

func (s *Store) moveAll(ctx context.Context, run string, ms []move) ([]bool, error) {
	args := make([]any, 0, 1+4*len(ms))
	args = append(args, runPrefix(run))
	for _, m := range ms {
		args = append(args, m.Index, m.Gen, int(m.from), int(m.to))
	}
	out, err := s.call(ctx, moveScript, []string{countKey(run)}, args, len(ms))
	if err != nil {
		return nil, fmt.Errorf("move: %w", err)
	}
	res := make([]bool, len(ms))
	for i := range ms {
		res[i] = integer(out[i]) == 1
	}
	return res, nil
}
