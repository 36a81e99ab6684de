package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// Capped says what a run's own cap stands at.
type Capped struct {
	Cap   int64 `json:"cap_micro_usd"`
	Spent int64 `json:"spent_micro_usd"` // and held by calls under way
	Held  int64 `json:"held_micro_usd,omitempty"`
	Next  int64 `json:"next_micro_usd,omitempty"` // what a row may cost that waits for money; 0: none does
	// Rest is what the open rows will cost if they cost what those that have ended did, or
	// what was expected where none has; 0: nothing is known.
	Rest int64 `json:"rest_micro_usd,omitempty"`
	// Full tells that the rows that wait cost more than what is left, and that nothing
	// under way can give any back.
	Full bool `json:"full"`
}

// Sentence says what is spent, without a full stop, and what goes on.
func (s Capped) Sentence(run string) string {
	left := max(s.Cap-s.Spent, 0)
	text := fmt.Sprintf("%s of --max-cost %s is spent", limiter.Dollars(s.Spent-s.Held), limiter.Dollars(s.Cap))
	if s.Held > 0 {
		text += fmt.Sprintf(" and %s held by calls under way", limiter.Dollars(s.Held))
	}
	if s.Next > 0 && left > 0 {
		text += fmt.Sprintf(", and a row may cost %s", limiter.Dollars(s.Next))
	}
	return fmt.Sprintf("%s: nightshift set %s --max-cost %s goes on", text, run, CapDollars(max(max(s.Cap, s.Spent)*3/2, EnoughCap(s.Spent, s.Rest, s.Next))))
}

// EnoughCap is a run's cap, in micro-dollars, that lets it end: what is spent, what its
// other rows are expected to cost with a tenth on top, and room for a call more that
// holds the most that it may cost.
func EnoughCap(spent, rest, call int64) int64 { return spent + max(rest*11/10, rest+call) }

// CapDollars is an amount for --max-cost, never below what it stands for: in cents, and
// in whole dollars from two on.
func CapDollars(micro int64) string {
	if micro > 2_000_000 {
		return fmt.Sprintf("%d", (micro+999_999)/1_000_000)
	}
	cents := (micro + 9_999) / 10_000
	return fmt.Sprintf("%d.%02d", cents/100, cents%100)
}

// CapOf reads what a run's cap stands at; false where it has none.
func (c *Control) CapOf(ctx context.Context, run jobs.Run, counts jobs.Counts) (Capped, bool, error) {
	lane, err := limiter.ParseLane(run.Spec.Lane)
	if err != nil {
		return Capped{}, false, err
	}
	caps, err := c.Limiter.CapsOn(ctx, lane, []string{"run/" + run.ID})
	if err != nil {
		return Capped{}, false, err
	}
	for _, x := range caps {
		if x.Node == "run/"+run.ID && x.Name == "usd_total" {
			stopped := slices.Contains(x.Stopped, run.Spec.Class)
			s := Capped{Cap: x.Amount, Spent: x.Used, Held: x.Held, Full: stopped && x.Held == 0 && counts[jobs.Running] == 0}
			if stopped {
				s.Next = x.Next
			}
			called, err := c.Store.Called(ctx, run.ID, counts)
			if err != nil {
				return Capped{}, false, err
			}
			if called > 0 {
				s.Rest = int64(float64(s.Spent-s.Held) / float64(called) * float64(counts.Open()))
			} else if p := run.Planned; p != nil && p.Cost != nil && p.Source != jobs.PlannedCap {
				s.Rest = p.Cost.High
			}
			return s, true, nil
		}
	}
	return Capped{}, false, nil
}

// cap finds out whether nothing more of the run fits under its cap. While calls are
// under way, which may give back what they hold, it never does; and it has to be so
// at two looks in a row, since rows come and go between them.
func (w *RunWatch) cap(ctx context.Context, f *followed) error {
	s, m := f.Spec.Steer, &f.mark
	if m.Cap != 0 && m.Cap == s.MaxCost {
		return nil // nothing was spent since, and nobody raised it
	}
	m.Cap = 0
	if s.MaxCost == 0 || f.counts[jobs.Running] > 0 || f.counts.Open() == 0 {
		m.Used = 0
		return nil
	}
	now, ok, err := w.Control.CapOf(ctx, f.Run, f.counts)
	if err != nil || !ok || !now.Full || now.Cap != s.MaxCost {
		m.Used = 0
		return err
	}
	if m.Used != now.Spent+1 {
		m.Used = now.Spent + 1 // seen once
		return nil
	}
	m.Cap, m.Spent, m.Next, m.Rest = now.Cap, now.Spent, now.Next, now.Rest
	return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunCapped, At: w.lastCall(ctx, f), Text: now.Sentence(shown(f.Run)),
		Occasion: fmt.Sprintf("%d %d", now.Cap, now.Spent)})
}

// lastCall is when the last call of a run that is at its cap ended, since then nothing
// more fitted; now where that is not to be seen.
func (w *RunWatch) lastCall(ctx context.Context, f *followed) time.Time {
	last, found, err := w.Control.Store.LastEnd(ctx, f.ID)
	if err != nil || !found || last.Finished.IsZero() {
		return f.now
	}
	return last.Finished
}

// capPause closes a run at its cap, for as long as a lease.
func (w *RunWatch) capPause(f *followed) (limiter.Pause, bool) {
	s := Capped{Cap: f.mark.Cap, Spent: f.mark.Spent, Next: f.mark.Next, Rest: f.mark.Rest}
	p := limiter.Pause{Run: f.ID, Reason: ReasonBudget, Owner: w.Owner, Until: f.now.Add(PauseLease), Detail: s.Sentence(shown(f.Run))}
	return p, f.mark.Cap != 0
}
