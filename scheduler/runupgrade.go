package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
)

const (
	// upgradeRest is how long a step has to show what it does before the next.
	upgradeRest = 5 * time.Minute
	// upgradeWeight is by what a run's weight is raised that will be late.
	upgradeWeight = 4
)

// The steps of an upgrade.
const (
	stepNone   = iota
	stepWeight // it goes before the other runs
	stepTier   // flex to standard
)

// upgrade does the next thing for a run that will be late: first it goes before
// others, then flex becomes standard. Nothing of it is taken back by itself.
func (w *RunWatch) upgrade(ctx context.Context, f *followed, done time.Time) error {
	s, m := f.Spec.Steer, &f.mark
	if s.OnLate != jobs.LateUpgrade || m.Steps > stepNone && f.now.Sub(m.Stepped) < upgradeRest {
		return nil
	}
	step, what, change := nextStep(s, m.Steps)
	if step == stepNone {
		text := fmt.Sprintf("nothing more can be done to make its deadline %s (its weight is %d, its tier %s): nightshift set %s --deadline TIME, or --service-tier priority, which costs more",
			w.clock(f, s.Deadline), max(s.Weight, 1), cmp.Or(s.ServiceTier, "standard"), shown(f.Run))
		return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunLate, At: f.now, Text: text, Occasion: "no upgrade " + s.Deadline.UTC().Format(time.RFC3339)})
	}
	by := jobs.SetBy{By: "nightshift, since it is late"}
	_, now, err := w.Control.Store.Change(ctx, f.ID, by, []string{what.setting}, func(x *jobs.Spec) error {
		change(&x.Steer)
		return nil
	})
	if err != nil {
		return err
	}
	f.Spec, f.Changes = now.Spec, now.Changes
	m.Steps, m.Stepped, m.Behind = step, f.now, 0
	text := what.text
	if !done.IsZero() {
		text += fmt.Sprintf(", since it would be done %s, and its deadline is %s", w.clock(f, done), w.clock(f, s.Deadline))
	}
	return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunUpgraded, At: f.now, Text: text,
		Occasion: fmt.Sprintf("%s %d", s.Deadline.UTC().Format(time.RFC3339), step)})
}

// stepWords is which setting a step changes, and what it means.
type stepWords struct{ setting, text string }

// nextStep is what can still be done after the steps that were; stepNone for
// nothing.
func nextStep(s jobs.Steering, steps int) (int, stepWords, func(*jobs.Steering)) {
	if weight := max(s.Weight, 1) * upgradeWeight; steps < stepWeight && weight <= 1000 {
		return stepWeight, stepWords{jobs.SetWeight, fmt.Sprintf("its weight is %d", weight)}, func(x *jobs.Steering) { x.Weight = weight }
	}
	if steps < stepTier && s.ServiceTier == "flex" {
		return stepTier, stepWords{jobs.SetServiceTier, "it is asked for at the standard tier, no longer flex"}, func(x *jobs.Steering) { x.ServiceTier = "standard" }
	}
	return stepNone, stepWords{}, nil
}
