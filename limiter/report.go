package limiter

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// reported is what Report needs of Redis and of the Model.
type reported interface {
	effective(context.Context) (Config, error)
	lower(context.Context, Feedback) (cuts []cut, none bool, err error)
	Set(context.Context, ...Override) error
	Note(context.Context, Event) error
	Events(ctx context.Context, since time.Time, n int) ([]Event, error)
}

// cut is one limit that feedback lowered noticeably.
type cut struct {
	unit               Unit
	window             Window
	before, after, all int64
}

// unboundCalls is how many calls at once an adaptive limit begins with, in a lane
// that has none: more than any fleet makes.
const unboundCalls = 10_000

// Unbound tells of a limit of calls at once that nobody has set: feedback of the provider
// brought it about.
func (l Limit) Unbound() bool { return l.Unit == Concurrency && l.Amount == unboundCalls }

// unit is that of the minute limit that was refused; NumUnits for none.
func (f Feedback) unit() Unit {
	for _, s := range shorthands {
		if s.name == f.Limit && s.window == Minute {
			return s.unit
		}
	}
	return NumUnits
}

// aboutMinute says that the refusal is about a minute's quota, or names none.
func (f Feedback) aboutMinute() bool { return f.Limit == "" || f.unit() < NumUnits }

func report(ctx context.Context, r reported, f Feedback) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := noteShared(ctx, r, f); err != nil {
		return err
	}
	adopted, err := adopt(ctx, r, f)
	if err != nil || adopted || f.Kind == RejectedAfterAdmit && !f.aboutMinute() {
		return err
	}
	cuts, none, err := r.lower(ctx, f)
	if none && err == nil {
		if err = r.Set(ctx, boundCalls(f.Lane)); err == nil {
			cuts, _, err = r.lower(ctx, f)
		}
	}
	if err != nil {
		return err
	}
	for _, c := range cuts {
		if err := r.Note(ctx, c.event(f.Lane)); err != nil {
			return err
		}
	}
	return nil
}

// noteShared tells once that two lanes are one quota at the provider: each is let
// in to all of it.
func noteShared(ctx context.Context, r reported, f Feedback) error {
	if f.Shared == "" {
		return nil
	}
	e := Event{Kind: EventAlert, Subject: f.Lane.String(), Data: map[string]string{"shared": f.Shared}, Text: fmt.Sprintf(
		"the provider counts %s and %s against one quota, but each is let in to all of its own: name %s among the aliases of %s in the configuration",
		f.Lane.Model, f.Shared, f.Lane.Model, f.Shared)}
	noted, err := r.Events(ctx, time.Time{}, 0)
	if err != nil || slices.ContainsFunc(noted, func(x Event) bool { return x.Subject == e.Subject && x.Data["shared"] == f.Shared }) {
		return err
	}
	return r.Note(ctx, e)
}

// boundCalls gives a lane a limit of calls at once that is in nobody's way until
// it is lowered.
func boundCalls(l Lane) Override {
	return Override{Node: l.String(), Name: "concurrency", Value: unboundCalls, Source: SourceProvider,
		Reason: "calls at once follow what it has room for from now on"}
}

// adopt makes a lower quotaValue our limit.
func adopt(ctx context.Context, r reported, f Feedback) (bool, error) {
	if f.Kind != RejectedAfterAdmit || f.QuotaValue == 0 {
		return false, nil
	}
	c, err := r.effective(ctx)
	if err != nil {
		return false, err
	}
	ours, ok := c.adopts(f)
	if !ok {
		return false, nil
	}
	o := Override{Node: f.Lane.String(), Name: f.Limit, Value: f.QuotaValue, Source: SourceProvider, Reason: "quotaValue of a 429"}
	if err := r.Set(ctx, o); err != nil {
		return false, err
	}
	return true, r.Note(ctx, Event{Kind: EventAlert, Subject: o.Node, Data: map[string]string{"limit": f.Limit}, Text: fmt.Sprintf(
		"the provider says that %s of %s is %d, not %d: %d holds from now on. Set the right value in the configuration and type `nightshift quota unset %s %s`",
		f.Limit, f.Lane.Model, f.QuotaValue, ours, f.QuotaValue, f.Lane.Model, f.Limit)})
}

// adopts tells whether the provider's value of a limit is lower than ours.
func (c Config) adopts(f Feedback) (ours int64, ok bool) {
	at := c.laneAt(f.Lane.String())
	if at < 0 {
		return 0, false
	}
	for _, s := range shorthands {
		if s.name == f.Limit && (s.window == Minute || s.window == Day) && s.unit != MicroUSD {
			ours = *s.field(&c.Lanes[at].Limits)
		}
	}
	return ours, ours > f.QuotaValue
}

func (c cut) event(l Lane) Event {
	name := Limit{Unit: c.unit, Window: c.window}.Name()
	e := Event{Kind: EventFeedback, Subject: l.String(), Data: map[string]string{"limit": name}}
	if c.window == Held {
		e.Text = fmt.Sprintf("%s: at most %d calls at once, since the provider is short of capacity; one more each second in which they are needed", l.Model, c.after)
		return e
	}
	e.Text = fmt.Sprintf("%s: %s lowered from %d to %d, since the provider refused what was admitted; a hundredth comes back each minute", l.Model, name, c.before, c.after)
	return e
}
