package gemini

import (
	"cmp"
	"context"
	"time"

	"nightshift/limiter"
)

// Follow does for a call on a clock of the caller's own what the Transport does after an
// answer: it tells the shared state what follows for the lane and the project, and gives
// what follows for the job. The zero Verdict is a good answer. Simulations use it, so that
// they act as the Transport does.
func Follow(ctx context.Context, gate Gate, p *limiter.Permit, v Verdict, now time.Time) (Consequence, error) {
	if v.Kind == "" {
		return Consequence{}, probed(ctx, gate, p)
	}
	ledger := Ledger{Now: now}
	if states, ok := gate.(laneStates); ok && v.vague() {
		s, err := states.State(ctx, p.Lane)
		if err != nil {
			return Consequence{}, err
		}
		ledger = usedUp(ledger, s)
	}
	v = ledger.Correct(v)
	next := ConsequenceOf(v, ledger)
	var failed error
	t := directTeller(gate, now)
	t.failed = func(_ limiter.Lane, err error) { failed = err }
	if next.Lane.Breaker != "" {
		t.trip(ctx, p.Lane, next, v, limiter.Trip{By: "simulation", Permit: p.ID})
	} else {
		t.rest(ctx, p.Lane, next, v)
		if v.Kind == Wait {
			failed = cmp.Or(failed, probed(ctx, gate, p))
		}
	}
	if r, ok := gate.(Reporter); ok && p.Over == "" {
		if f, said := feedbackOf(v, next); said {
			f.Lane = p.Lane
			failed = cmp.Or(failed, r.Report(ctx, f))
		}
	}
	return next, failed
}

// probed closes the breaker that the call looked at, if it did.
func probed(ctx context.Context, gate Gate, p *limiter.Permit) error {
	if b, ok := gate.(Breaker); ok && p.Probe {
		return b.Probed(ctx, p)
	}
	return nil
}
