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
	Stop    time.Time       // that deadline, in UTC; zero where Late is 0
	Waited  time.Duration   // since the row was enqueued, in whole seconds of Redis's clock
	Waits   Waits           // what it has spent waiting until now, by cause as it was told (see Store.Blame)

	wait oneWait // the latest of them
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
	out, err := s.call(ctx, beginScript, []string{countKey(run), runKey(run)}, args, 4+5*len(ts))
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	digest, most := str(out[0]), seconds(out[1])
	now, late := time.UnixMilli(integer(out[2])), time.Duration(integer(out[3]))*time.Millisecond
	res := make([]Begun, len(ts))
	for i := range ts {
		o := out[4+5*i : 9+5*i]
		row, fields, _ := strings.Cut(str(o[2]), "\x00")
		res[i] = Begun{Outcome: Outcome(integer(o[0])), From: State(integer(o[1])), Row: row, Fields: json.RawMessage(fields),
			Digest: digest, MaxWait: most, Late: late, Waited: seconds(o[3])}
		if late > 0 {
			res[i].Stop = now.Add(-late).UTC()
		}
		res[i].wait.until = now
		res[i].waited(str(o[4]))
	}
	return res, nil
}

// waited reads what a row that begins has waited. What a worker that died left is
// nobody's: it counts as the queue's, as does what was before anybody looked.
func (b *Begun) waited(record string) {
	w, until := &b.Waits, b.wait.until
	switch {
	case b.Outcome != Proceed:
	case record == "":
		w[WaitQueue] = b.Waited
		b.wait.since = until.Add(-b.Waited)
	case b.From == Running:
		head, before, _ := strings.Cut(record, " ")
		w.noted("q"+head[1:]+" "+before, until)
	default:
		b.wait.cause, b.wait.since = w.noted(record, until)
	}
}

func seconds(v any) time.Duration { return time.Duration(integer(v)) * time.Second }

// move is one row's change between two open states.
type move struct {
	Task
	from, to State
	wait     string // for what it waits from now on, and what it has waited; "" leaves that
}

// Wait moves a row from Running to Waiting: it was refused a permit. It waits for c
// from now on and has waited what Begun said. A row that is no longer Running, or of
// another generation, is left alone.
func (s *Store) Wait(ctx context.Context, t Task, c WaitCause, waited Waits) error {
	_, err := s.moves.do(ctx, t.Run, move{t, Running, Waiting, waitCodes[c:c+1] + waited.encode()})
	return err
}

// RetryWait moves a row from Running to RetryWait: it failed and will be tried
// again. Otherwise like Wait.
func (s *Store) RetryWait(ctx context.Context, t Task, waited Waits) error {
	_, err := s.moves.do(ctx, t.Run, move{t, Running, RetryWait, waitCodes[WaitErrors:WaitErrors+1] + waited.encode()})
	return err
}

func (s *Store) moveAll(ctx context.Context, run string, ms []move) ([]bool, error) {
	args := make([]any, 0, 1+5*len(ms))
	args = append(args, runPrefix(run))
	for _, m := range ms {
		args = append(args, m.Index, m.Gen, int(m.from), int(m.to), m.wait)
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

// Lost is how often a row of the run lost the worker that had it: its call was under way
// then, or about to go out, and nobody has seen the answer. The row is asked again.
func (s *Store) Lost(ctx context.Context, run string) (int64, error) {
	return s.field(ctx, run, "lost")
}

// Attempts is how often the run's rows were attempted that have ended, by their results:
// those of former ends, of rows that were tried again, are in it.
func (s *Store) Attempts(ctx context.Context, run string) (int64, error) {
	return s.field(ctx, run, "attempts")
}

// Called is how many of the run's rows have ended with a call, at most: those that failed
// before theirs are told from others by how often rows were attempted.
func (s *Store) Called(ctx context.Context, run string, c Counts) (int64, error) {
	attempts, err := s.Attempts(ctx, run)
	return min(attempts, c[Done]+c[Failed]+c[Blocked]+c[Truncated]), err
}

// Paid is what the results of the run's rows say that their calls have cost, in
// micro-dollars; those of former ends, of rows that were tried again, are in it. A worker
// that dies may have counted less of it elsewhere.
func (s *Store) Paid(ctx context.Context, run string) (int64, error) {
	return s.field(ctx, run, "paid")
}
