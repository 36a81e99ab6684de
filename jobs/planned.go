package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Span is what an amount is expected to be: likely Mid, hardly below Low or
// above High.
type Span struct {
	Low  int64 `json:"low"`
	Mid  int64 `json:"mid"`
	High int64 `json:"high"`
}

// Plus adds two up, end by end.
func (s Span) Plus(o Span) Span { return Span{s.Low + o.Low, s.Mid + o.Mid, s.High + o.High} }

// Planned is what a run was expected to need when it was enqueued: what a report
// holds against what it took.
type Planned struct {
	At     time.Time `json:"at"`                       // when this was said; of several enqueues the last
	Rows   int64     `json:"rows"`                     // to be made: without those whose answer was there
	Input  Span      `json:"input"`                    // input tokens
	Output Span      `json:"output"`                   // output tokens, thinking included
	Cost   *Span     `json:"cost_micro_usd,omitempty"` // nil where no price is known
	Tier   string    `json:"tier"`                     // service tier that the cost is of: "standard", "flex", …
	Source string    `json:"source"`                   // what the output was told from: one of the Planned… words
	Done   time.Time `json:"done,omitzero"`            // when it was expected to have ended; zero where nothing told
}

// Where the expected output of a plan comes from, from the best to the worst.
const (
	PlannedSample  = "sample"  // rows of this very input that were tried
	PlannedFormer  = "former"  // results of an earlier run with the same prompt
	PlannedLearned = "learned" // calls of the same model and feature
	PlannedCap     = "cap"     // nothing but the longest answer that is allowed
)

// plus is the sum of what several enqueues of one run were expected to need. The
// end and where it comes from are the last one's.
func (p Planned) plus(o Planned) Planned {
	o.Rows, o.Input, o.Output = o.Rows+p.Rows, o.Input.Plus(p.Input), o.Output.Plus(p.Output)
	if o.Cost == nil || p.Cost == nil {
		o.Cost = nil // a part of it is not known
		return o
	}
	sum := o.Cost.Plus(*p.Cost)
	o.Cost = &sum
	return o
}

// Expect records what an enqueue of a run is expected to need, beside what former
// enqueues of it were. Run.Planned has the sum. ErrNoRun says that the run has gone.
func (s *Store) Expect(ctx context.Context, run string, p Planned) error {
	m, err := s.meta(ctx, run)
	if err != nil {
		return err
	}
	if m.Planned != nil {
		p = m.Planned.plus(p)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	out, err := s.call(ctx, expectScript, []string{runKey(run)}, []any{text}, 1)
	if err == nil && integer(out[0]) == 0 {
		return ErrNoRun
	}
	return err
}

// readPlanned reads the field of a run's hash; empty is none.
func readPlanned(text string) (*Planned, error) {
	if text == "" {
		return nil, nil
	}
	var p Planned
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("what it was planned to need cannot be read: %w", err)
	}
	return &p, nil
}
