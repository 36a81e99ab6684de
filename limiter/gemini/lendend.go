package gemini

import (
	"context"
	"errors"
	"time"

	"nightshift/limiter"
)

// Look gives a loan as it is.
func (l *Lender) Look(ctx context.Context, owner, id string) (Loan, error) {
	held, err := l.find(ctx, owner, id)
	if err != nil {
		return Loan{}, err
	}
	return held.Loan, nil
}

// find reads a loan of an owner. That it is another one's is not told.
func (l *Lender) find(ctx context.Context, owner, id string) (*loan, error) {
	ctx, cancel := context.WithTimeout(ctx, l.t.cfg.Bounds.Settle)
	defer cancel()
	held, err := l.store.read(ctx, id)
	switch {
	case err != nil:
		return nil, l.away(ctx, err)
	case held == nil || held.Owner != owner:
		return nil, noLoan(id)
	}
	return held, nil
}

// away is the refusal for want of the shared state. One who hung up meanwhile is
// refused nothing.
func (l *Lender) away(ctx context.Context, cause error) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	c := &call{t: l.t, ctx: ctx, obs: &Observation{}}
	c.caller, _ = CallerFrom(ctx)
	c.obs.TraceID, c.obs.Lane.Project = c.caller.TraceID, l.t.cfg.Lanes.lane("").Project
	return c.unavailable(cause)
}

// Extend lets a loan hold for lease from now.
func (l *Lender) Extend(ctx context.Context, owner, id string, lease time.Duration) (Loan, error) {
	return l.change(ctx, owner, id, func(held *loan) (loan, time.Duration, error) {
		if err := held.open(id); err != nil {
			return loan{}, 0, err
		}
		gate, ok := l.t.cfg.Gate.(extender)
		if !ok {
			return loan{}, 0, errors.New("gemini: the gate extends no leases")
		}
		err := gate.Extend(ctx, held.Lane, held.Permit, lease)
		switch {
		case errors.Is(err, limiter.ErrLapsed), errors.Is(err, limiter.ErrNoPermit):
			held.Lapsed = true
			return loan{}, 0, held.open(id)
		case err != nil:
			return loan{}, 0, l.away(ctx, err)
		}
		to := *held
		to.Expires = held.Now.Add(lease)
		return to, lease + loanKept, nil
	})
}

// Release gives back all that a loan holds: its call was never sent. Releasing it
// again changes nothing.
func (l *Lender) Release(ctx context.Context, owner, id string) (Loan, error) {
	again, charged := false, limiter.Amounts{}
	got, err := l.change(ctx, owner, id, func(held *loan) (loan, time.Duration, error) {
		again, charged = held.State == LoanReleased, held.Charged
		switch {
		case held.State == LoanSettled:
			return loan{}, 0, held.over(id)
		case held.Sent:
			return loan{}, 0, held.conflict("IN_USE", "usage of permit %s was reported, so its call was sent: settle it", id)
		}
		to := *held
		to.State, to.Charged = LoanReleased, limiter.Amounts{}
		return to, loanKept, nil
	})
	if err != nil {
		return Loan{}, err
	}
	got.Repeated = again
	c := l.callOf(ctx, &loan{Loan: got})
	c.again, c.obs.Permit.Amounts = again, charged
	c.settle(limiter.Released, limiter.Amounts{}) // again, too: the process that did it first may have died before
	return got, nil
}

// mostTries bounds how often a change is tried when others change the same loan.
const mostTries = 5

// change replaces a loan by what to makes of it.
func (l *Lender) change(ctx context.Context, owner, id string, to func(*loan) (loan, time.Duration, error)) (Loan, error) {
	held, err := l.find(ctx, owner, id)
	for range mostTries {
		if err != nil {
			return Loan{}, err
		}
		next, kept, err := to(held)
		if err != nil {
			return Loan{}, err
		}
		now, done, err := l.put(ctx, held, next, kept)
		if done {
			return now.Loan, nil
		}
		if err != nil {
			return Loan{}, err
		}
		if held = now; held == nil {
			return Loan{}, noLoan(id)
		}
	}
	return Loan{}, l.away(ctx, errors.New("too many changes of one permit at once"))
}

func (l *Lender) put(ctx context.Context, was *loan, to loan, kept time.Duration) (*loan, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.t.cfg.Bounds.Settle)
	defer cancel()
	now, done, err := l.store.put(ctx, was, to, kept)
	if err != nil {
		return nil, false, l.away(ctx, err)
	}
	return now, done, nil
}
