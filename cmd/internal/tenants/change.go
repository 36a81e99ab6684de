package tenants

import (
	"context"
	"errors"
	"slices"
)

// Put makes a tenant or a team, or changes what there is to the draft, as a whole:
// its note, and its limits and weight over the configuration. made says that it is new.
// A change of what is there needs a Condition, or is ErrUnread; one that changes nothing
// needs none. ErrChanged says that the condition does not hold. A *FieldError or FieldErrors name
// what cannot be, a *ConflictError a team that is another tenant's. Nothing is changed with an
// error.
func (b *Book) Put(ctx context.Context, by string, r Ref, d Draft, cond Condition) (a *Account, made bool, err error) {
	if err := wrongIf(checkNames(r), d.check()); err != nil {
		return nil, false, err
	}
	if err := b.ready(ctx); err != nil {
		return nil, false, err
	}
	s, err := b.state(ctx, r.Node())
	if err != nil {
		return nil, false, err
	}
	if err := b.mayPut(ctx, r, s); err != nil {
		return nil, false, err
	}
	done := s.rec.there() && s.rec.Note == d.Note && s.terms.equal(d.Terms)
	if err := s.met(cond, done); err != nil {
		return nil, false, err
	}
	if !done {
		if err := b.apply(ctx, by, r, s, d); err != nil {
			return nil, false, err
		}
	}
	a, err = b.Show(ctx, r)
	return a, !s.rec.there(), err
}

func checkNames(r Ref) error {
	if err := checkName("tenant", r.Tenant); err != nil || r.Team == "" {
		return err
	}
	return checkName("team", r.Team)
}

// met says whether what is there is what the change expects. A change that is done
// already is no harm (RFC 9110, 13.1.1).
func (s state) met(c Condition, done bool) error {
	switch {
	case c.Absent && s.rec.there(), c.Any && !s.rec.there() && len(s.set) == 0:
		return ErrChanged
	case done, c.Any, slices.Contains(c.Tags, s.tag()):
		return nil
	case len(c.Tags) > 0:
		return ErrChanged
	case s.rec.there() || len(s.set) > 0 && !c.Absent:
		return ErrUnread
	}
	return nil
}

// mayPut keeps a team's name to one tenant: its limits are counted by that name.
func (b *Book) mayPut(ctx context.Context, r Ref, s state) error {
	if r.Team == "" {
		return nil
	}
	if s.rec.there() && s.rec.Tenant != r.Tenant {
		return errTakenTeam
	}
	all, err := b.Keys.List(ctx)
	for _, k := range all {
		if k.Project == b.Scope.Project && k.Path.Team == r.Team && k.Path.Tenant != r.Tenant && k.Revoked.IsZero() {
			return errTakenTeam
		}
	}
	if err != nil {
		return err
	}
	_, err = b.Show(ctx, Ref{Tenant: r.Tenant})
	if errors.Is(err, ErrNotThere) {
		return conflict("tenant %s is not there: make it first", r.Tenant)
	}
	return err
}

// errTakenTeam does not say whose the name is: that is nobody's business.
var errTakenTeam = &ConflictError{"that name is taken by a team of another tenant; limits are counted by a team's name, so it has to be another one"}

// apply makes the change: the record first, by which two that come at the same time are
// told apart, then the limits. When these cannot be set the record comes back.
func (b *Book) apply(ctx context.Context, by string, r Ref, s state, d Draft) error {
	rec := s.rec.next(by, b.now())
	if rec.Note = d.Note; r.Team != "" {
		rec.Tenant = r.Tenant
	}
	to := d.Terms
	if rec.Stop != nil { // what is set of the stopped limit holds when the stop is lifted
		n, set := d.Limits["rpm"]
		rec.Stop = &stopped{rec.Stop.At, rec.Stop.By, rec.Stop.Reason, set, n}
		to = to.stopped()
	}
	return b.commit(ctx, s, &rec, to, by, "")
}

// commit puts a record and terms in the place of what was read.
func (b *Book) commit(ctx context.Context, s state, rec *record, to Terms, by, reason string) error {
	ch := termsOf(s.set, s.node).change(s.node, to, by)
	ch.If = s.still
	for i := range ch.Set {
		ch.Set[i].Reason = reason
	}
	if len(ch.Set)+len(ch.Unset) > 0 {
		if _, _, err := b.Limiter.Try(ctx, ch); err != nil {
			return ofLimiter(err)
		}
	}
	if err := b.swap(ctx, s.node, s.rec, rec); err != nil {
		return err
	}
	b.seen.Forget()
	if len(ch.Set)+len(ch.Unset) == 0 {
		return nil
	}
	if err := b.Limiter.Override(ctx, ch); err != nil {
		return b.takeBack(ctx, s, rec, err)
	}
	return nil
}

// takeBack puts the record back that was there before the limits could not be set.
func (b *Book) takeBack(ctx context.Context, s state, rec *record, why error) error {
	ctx = context.WithoutCancel(ctx)
	now := record{}
	if rec != nil {
		now = *rec
	}
	var was *record
	if s.rec.there() {
		was = new(s.rec)
	}
	return errors.Join(ofLimiter(why), b.swap(ctx, s.node, now, was))
}

// Delete forgets a tenant or a team: its note, and its limits and weight over the
// configuration. A *ConflictError says that it still has keys or teams.
func (b *Book) Delete(ctx context.Context, by string, r Ref, cond Condition) error {
	a, err := b.Show(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case a.Keys > 0:
		return conflict("it has keys that hold: %d. Revoke them first", a.Keys)
	case len(a.Teams) > 0:
		return conflict("it has teams: %d. Delete them first", len(a.Teams))
	}
	s, err := b.state(ctx, r.Node())
	if err != nil {
		return err
	}
	if err := s.met(cond, false); err != nil {
		return err
	}
	if err := b.commit(ctx, s, nil, Terms{}, by, ""); err != nil || r.Team != "" {
		return err
	}
	return b.dropTokens(ctx, r.Tenant)
}
