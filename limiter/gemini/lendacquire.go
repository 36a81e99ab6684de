package gemini

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"nightshift/limiter"
)

// Lend gives a permit for a call that the asker makes itself, waiting for it in
// place. A refusal is a *limiter.Denied as of the Transport, an ask that makes no
// sense a *RefusedError, and a *LoanError one whose RequestID is that of a loan
// which has ended, or of another call. The context's Observation tells the rest.
func (l *Lender) Lend(ctx context.Context, ask LoanAsk) (Loan, error) {
	c := &call{t: l.t, ctx: ctx, obs: observation(ctx), lent: true, begin: l.t.cfg.Now()}
	got, err := l.lend(c, ask)
	var unfit *LoanError
	if err != nil && !errors.As(err, &unfit) {
		err = c.refused(err)
		c.recordNow()
	}
	return got, err
}

func (l *Lender) lend(c *call, ask LoanAsk) (Loan, error) {
	ask.Method = cmp.Or(ask.Method, "generateContent")
	if err := c.prepareLoan(ask); err != nil {
		return Loan{}, err
	}
	id := ask.id()
	if known, err := l.known(c, id, ask); known != nil || err != nil {
		return known.repeated(), err
	}
	if err := c.priced(); err != nil {
		return Loan{}, err
	}
	if err := c.borrow(id, ask); err != nil {
		return Loan{}, err
	}
	return l.keep(c, id, ask)
}

// prepareLoan finds out what is asked for and what it is expected to take.
func (c *call) prepareLoan(ask LoanAsk) (err error) {
	if err = c.identify(); err != nil {
		return err
	}
	if c.route, err = lentRoute(ask.Model, ask.Method); err != nil {
		return err
	}
	c.resolve() // ramps do not move it: its holder sends what it has for the model that it named
	if err = c.findLane(); err != nil {
		return err
	}
	if c.body = ask.Body; ask.Body != nil {
		return c.estimate()
	}
	c.ask = Ask{Method: c.route.method, Model: c.model, Lane: c.obs.Lane, Class: c.caller.Class, Feature: c.caller.Feature, Asked: c.route.model}
	c.guess = c.t.cfg.Estimator.given(c.ask, ask.Amounts)
	c.obs.Estimate = c.guess.Amounts
	return c.fitsContext()
}

// borrow gets the permit. Its id is another one for each try: what is given back
// because nobody heard of it must never be what somebody else was told.
func (c *call) borrow(id string, ask LoanAsk) error {
	req := c.request()
	req.ID, req.Lease = id+"."+newID()[:8], cmp.Or(ask.Lease, limiter.DefaultLease)
	budget := ask.Wait
	if budget < 0 {
		budget = min(c.t.cfg.MaxWait[c.caller.Class], MostLoanWait)
	}
	start := time.Now()
	permit, err := acquireWaiting(c.ctx, c.t.cfg.Gate, req, budget, func(time.Duration) error { return nil })
	c.obs.Waited = time.Since(start)
	if err == nil {
		c.obs.Permit, c.obs.Over = permit, permit.Over
		c.t.cfg.Metrics.grant(permit)
		return nil
	}
	var denied *limiter.Denied
	if !errors.As(err, &denied) || denied.Reason == limiter.ReasonUnavailable {
		c.giveBack(req)
	}
	return err
}

// keep remembers the loan; until then nobody was told of it. An asker that left
// meanwhile, and gave the call no name by which to ask again, has no use for it.
func (l *Lender) keep(c *call, id string, ask LoanAsk) (Loan, error) {
	if err := c.ctx.Err(); err != nil && ask.RequestID == "" {
		return Loan{}, err // Lend releases it
	}
	p := c.obs.Permit
	fresh := loan{
		Loan: Loan{
			ID: id, State: LoanOpen, Permit: p.ID, Owner: ask.Owner, Model: c.route.model, Method: c.route.method, Lane: p.Lane,
			Class: c.caller.Class, Feature: c.caller.Feature, Path: c.caller.Path,
			Granted: p.Granted, Expires: p.Expires, Charged: p.Amounts, TraceID: c.obs.TraceID, Over: c.obs.Over, Waited: c.obs.Waited,
		},
		Asked: c.routing.asked, Print: ask.print(c.caller), Begin: c.begin, Estimate: c.obs.Estimate, Guess: c.guess.lent(), Probe: p.Probe,
	}
	ctx, cancel := c.unhurried()
	defer cancel()
	held, done, err := l.store.put(ctx, nil, fresh, cmp.Or(ask.Lease, limiter.DefaultLease)+loanKept)
	switch {
	case err != nil:
		return Loan{}, c.unavailable(err)
	case !done: // the same ask was answered meanwhile
		c.settle(limiter.Released, limiter.Amounts{})
		err = held.answers(ask, c.caller)
	}
	if err != nil {
		return Loan{}, err
	}
	if !done {
		return held.repeated(), nil
	}
	return held.Loan, nil
}

// unhurried is a context that outlives the caller's, for what is owed.
func (c *call) unhurried() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
}

// id is the loan's: by its owner's name for the call, or one that nobody can guess.
func (a LoanAsk) id() string {
	if a.RequestID == "" {
		return "p_" + newID()
	}
	sum := sha256.Sum256([]byte("nightshift loan v1\x00" + a.Owner + "\x00" + a.RequestID))
	return "p_" + hex.EncodeToString(sum[:16])
}

// print tells whether two asks are for the same call. How long they would wait or
// hold is no part of it.
func (a LoanAsk) print(who Caller) string {
	body := sha256.Sum256(a.Body)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s\x00%s\x00%x\x00%v", NormalizeModel(a.Model), a.Method, who.Class, who.Feature, who.Path.Leaf(), body, a.Amounts))
	return hex.EncodeToString(sum[:8])
}

// known gives the loan that the same ask was given before.
func (l *Lender) known(c *call, id string, ask LoanAsk) (*loan, error) {
	if ask.RequestID == "" {
		return nil, nil
	}
	ctx, cancel := c.unhurried()
	defer cancel()
	held, err := l.store.read(ctx, id)
	if err != nil {
		return nil, c.unavailable(err)
	}
	if held == nil {
		return nil, nil
	}
	return held, held.answers(ask, c.caller)
}

// answers says why a loan is no answer to an ask with its RequestID.
func (l *loan) answers(ask LoanAsk, who Caller) error {
	if l.Print != ask.print(who) {
		return l.conflict("REQUEST_ID_REUSED", "request_id %q was used for another call: each call needs one of its own", ask.RequestID)
	}
	return l.open(l.ID)
}

// open says why a loan is over. lapsed ones may still be settled.
func (l *loan) open(name string) error {
	switch {
	case l.State != LoanOpen:
		return l.over(name)
	case l.Lapsed:
		return l.conflict("LAPSED", "the lease of permit %s ended at %s: take a new one, with another request_id", name, l.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

func (l *loan) over(name string) error {
	if l.State == LoanReleased {
		return l.conflict("RELEASED", "permit %s was released: nothing can be charged to it; report a call that was made all the same to /v1/observe", name)
	}
	return l.conflict("SETTLED", "permit %s was settled: a call needs a new one", name)
}

func (l *loan) repeated() Loan {
	if l == nil {
		return Loan{}
	}
	again := l.Loan
	again.Repeated = true
	return again
}
