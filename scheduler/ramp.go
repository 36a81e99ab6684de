package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// Ramps are a project's, as people command them.
type Ramps struct {
	Control *Control
	Store   *gemini.RampStore
	Owner   string // who writes: a person or the leader
}

// NoRampError says that nothing moves the calls of a scope.
type NoRampError struct {
	Scope gemini.RampScope
	From  string
	Known []string // the ramps that there are
}

// Error names those that there are.
func (e *NoRampError) Error() string {
	what := e.Scope.String()
	if e.From != "" {
		what = gemini.RampName(e.Scope, e.From)
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("no ramp %s: there are none", what)
	}
	return fmt.Sprintf("no ramp %s; there are: %s", what, strings.Join(e.Known, ", "))
}

// RampPhaseError says that a ramp is not in a phase in which that can be done.
type RampPhaseError struct {
	Ramp gemini.Ramp
	Do   string // "hold"
	Want string // what to do instead
}

// Error says what the ramp does, and what to do.
func (e *RampPhaseError) Error() string {
	return fmt.Sprintf("ramp %s (%s to %s) is %s: %s", e.Ramp.Scope, e.Ramp.From, e.Ramp.To, e.Ramp.Phase, e.Want)
}

// Find gives the ramp of a scope: of the model from, or the only one that is not
// rolled back. The error is a *NoRampError, or says that from is needed.
func (x *Ramps) Find(ctx context.Context, scope gemini.RampScope, from string) (gemini.Ramp, error) {
	all, err := x.Store.Ramps(ctx)
	if err != nil {
		return gemini.Ramp{}, err
	}
	var known, names []string
	var found []gemini.Ramp
	for _, r := range all {
		known = append(known, r.Name())
		if r.Scope == scope && (from == "" || gemini.NormalizeModel(from) == r.From) {
			found = append(found, r)
		}
	}
	if live := slices.DeleteFunc(slices.Clone(found), func(r gemini.Ramp) bool { return r.Phase == gemini.RampRolledBack }); len(live) > 0 {
		found = live
	}
	switch len(found) {
	case 0:
		return gemini.Ramp{}, &NoRampError{scope, from, known}
	case 1:
		return found[0], nil
	}
	for _, r := range found {
		names = append(names, r.From)
	}
	return gemini.Ramp{}, fmt.Errorf("%s has several ramps: say which with --from %s", scope, strings.Join(names, " or --from "))
}

// Start begins a ramp at its first step, whether or not a scheduler runs. One that
// was rolled back gives its place up; over one that is not, the error is a
// *RampPhaseError.
func (x *Ramps) Start(ctx context.Context, r gemini.Ramp) (gemini.Ramp, error) {
	now, err := x.Control.now(ctx)
	if err != nil {
		return r, err
	}
	r.From, r.To = gemini.NormalizeModel(r.From), gemini.NormalizeModel(r.To)
	r.Phase, r.Since, r.Started, r.Changed, r.Counted, r.By = gemini.RampMoving, now, now, now, now, x.Owner
	err = x.Store.Put(ctx, r)
	if errors.Is(err, gemini.ErrRampChanged) { // there is one of its name
		_, err = x.Store.Change(ctx, r.Scope, r.From, func(old *gemini.Ramp) error {
			if old.Phase != gemini.RampRolledBack {
				return &RampPhaseError{*old, "start", "finish it or roll it back before another one begins"}
			}
			*old = r
			return nil
		})
	}
	if err != nil {
		return r, err
	}
	x.note(ctx, gemini.EventRamp, r.Scope, x.Owner, fmt.Sprintf("%s begins at %s, all within %s", about(r), limiter.Share(r.SharePPM()), r.Over))
	return r, nil
}

// Hold keeps a ramp's share as it is until Resume. why is for people.
func (x *Ramps) Hold(ctx context.Context, r gemini.Ramp, why string) (gemini.Ramp, error) {
	return x.to(ctx, r, gemini.RampHeld, why, func(r gemini.Ramp) error {
		if !r.Active() {
			return &RampPhaseError{r, "hold", "nothing moves that could be held"}
		}
		return nil
	}, func(r gemini.Ramp) string { return "is held at " + limiter.Share(r.SharePPM()) })
}

// Resume lets a ramp go on from where it is, also one that was bad: it stands
// still again when it is still so. The step's time and calls begin anew: what was
// seen before says nothing of now.
func (x *Ramps) Resume(ctx context.Context, r gemini.Ramp) (gemini.Ramp, error) {
	return x.to(ctx, r, gemini.RampMoving, "", func(r gemini.Ramp) error {
		if r.Phase != gemini.RampHeld && r.Phase != gemini.RampBad {
			return &RampPhaseError{r, "resume", "only one that is held or bad can go on; `nightshift ramp start` begins another one"}
		}
		return nil
	}, func(r gemini.Ramp) string { return "goes on at " + limiter.Share(r.SharePPM()) })
}

// Rollback takes all calls back to the old model, also of a ramp that has finished.
func (x *Ramps) Rollback(ctx context.Context, r gemini.Ramp, why string) (gemini.Ramp, error) {
	return x.to(ctx, r, gemini.RampRolledBack, why, func(r gemini.Ramp) error {
		if r.Phase == gemini.RampRolledBack {
			return &RampPhaseError{r, "roll back", "no call is moved any more"}
		}
		return nil
	}, func(r gemini.Ramp) string { return "is rolled back: all calls go to " + r.From })
}

// Finish moves all calls until the configuration does. It wants them to be moved
// already, but with now.
func (x *Ramps) Finish(ctx context.Context, r gemini.Ramp, now bool) (gemini.Ramp, error) {
	return x.to(ctx, r, gemini.RampFinished, "", func(r gemini.Ramp) error {
		switch {
		case !r.Active():
			return &RampPhaseError{r, "finish", "there is nothing to finish"}
		case !r.Last() && !now:
			return &RampPhaseError{r, "finish", fmt.Sprintf("%s of the callers are moved; wait for all of them, or move them at once with --now", limiter.Share(r.SharePPM()))}
		}
		return nil
	}, func(r gemini.Ramp) string { return "is finished: all calls go to " + r.To })
}

// Forget removes a ramp that is over. Calls that a finished one moved then go
// where the configuration says.
func (x *Ramps) Forget(ctx context.Context, r gemini.Ramp) error {
	if r.Active() {
		return &RampPhaseError{r, "forget", "finish it or roll it back first"}
	}
	if err := x.Store.Remove(ctx, r); err != nil {
		return err
	}
	x.note(ctx, gemini.EventRamp, r.Scope, x.Owner, about(r)+" is forgotten: the configuration decides")
	return nil
}

// to puts a ramp into a phase by a person's command.
func (x *Ramps) to(ctx context.Context, r gemini.Ramp, p gemini.RampPhase, why string, may func(gemini.Ramp) error, did func(gemini.Ramp) string) (gemini.Ramp, error) {
	now, err := x.Control.now(ctx)
	if err != nil {
		return r, err
	}
	r, err = x.Store.Change(ctx, r.Scope, r.From, func(r *gemini.Ramp) error {
		if err := may(*r); err != nil {
			return err
		}
		before := r.SharePPM()
		*r = enterRamp(*r, p, now)
		r.HeldBy, r.Why, r.Looked = x.Owner, why, now
		if p == gemini.RampMoving {
			r.Ramped, r.Moved, r.Counted = 0, 0, now
		}
		if r.SharePPM() != before {
			r.Before, r.Changed = r.SharePPM(), now // a command is for all at once
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	text := about(r) + " " + did(r)
	if why != "" {
		text += " (" + why + ")"
	}
	x.note(ctx, gemini.EventRamp, r.Scope, x.Owner, text)
	return r, nil
}
