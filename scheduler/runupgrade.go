package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
)

const (
	// upgradeRest is how long a step has to show what it does before the next, at most:
	// a quarter of what was left to the deadline is enough.
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
	if s.OnLate != jobs.LateUpgrade || m.Steps > stepNone && f.now.Sub(m.Stepped) < min(upgradeRest, s.Deadline.Sub(m.Stepped)/4) {
		return nil
	}
	step, what, change := w.nextStep(f.Run, m.Steps)
	if step == stepNone {
		text := fmt.Sprintf("nothing more can be done to make its deadline %s (its weight is %d, its tier %s): nightshift set %s --deadline TIME, or --service-tier priority%s",
			w.clock(f, s.Deadline), max(s.Weight, 1), cmp.Or(s.ServiceTier, "standard"), shown(f.Run), w.priceWords(f.Run, cmp.Or(s.ServiceTier, "standard"), "priority"))
		return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunLate, At: f.now, Text: text, Occasion: "no upgrade " + s.Deadline.UTC().Format(time.RFC3339)})
	}
	by := jobs.SetBy{By: byUpgrade}
	_, now, err := w.Control.Store.Change(ctx, f.ID, by, []string{what.setting}, func(x *jobs.Spec) error {
		change(&x.Steer)
		return nil
	})
	if err != nil {
		return err
	}
	f.Spec, f.Changes = now.Spec, now.Changes
	m.Steps, m.Stepped, m.Behind = step, f.now, 0
	text := fmt.Sprintf("%s from %s on", what.text, w.clock(f, f.now))
	if !done.IsZero() {
		text += fmt.Sprintf("; it would be done %s, and its deadline is %s", w.clock(f, done), w.clock(f, s.Deadline))
	}
	return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunUpgraded, At: f.now, Text: text,
		Occasion: fmt.Sprintf("%s %d", s.Deadline.UTC().Format(time.RFC3339), step)})
}

// stepWords is which setting a step changes, and what it means.
type stepWords struct{ setting, text string }

// nextStep is what can still be done after the steps that were; stepNone for
// nothing.
func (w *RunWatch) nextStep(run jobs.Run, steps int) (int, stepWords, func(*jobs.Steering)) {
	s := run.Spec.Steer
	if weight := max(s.Weight, 1) * upgradeWeight; steps < stepWeight && weight <= mostUpgraded {
		text := fmt.Sprintf("its rows go before those of other runs: its weight is %d instead of %d", weight, max(s.Weight, 1))
		return stepWeight, stepWords{jobs.SetWeight, text}, func(x *jobs.Steering) { x.Weight = weight }
	}
	if steps < stepTier && s.ServiceTier == gemini.TierFlex {
		text := "its rows go by the standard tier instead of flex" + w.priceWords(run, gemini.TierFlex, gemini.TierStandard)
		return stepTier, stepWords{jobs.SetServiceTier, text}, func(x *jobs.Steering) { x.ServiceTier = gemini.TierStandard }
	}
	return stepNone, stepWords{}, nil
}

// mostUpgraded is the largest weight that an upgrade gives; a run's own may be no larger.
const mostUpgraded = 1000

// UpgradePlan says what an upgrade has done for a run that fell behind its deadline, and
// what it still does when that is not enough, in this order; left is empty where nothing
// is left to do.
func (w *RunWatch) UpgradePlan(ctx context.Context, run jobs.Run) (done, left []string, err error) {
	marks, err := w.marks(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, s := marks[run.ID], run.Spec.Steer
	if !m.Of.Equal(s.Deadline) {
		m.Steps = stepNone // what was done was for another deadline
	}
	if m.Steps >= stepWeight && run.Set[jobs.SetWeight].By == byUpgrade {
		done = append(done, fmt.Sprintf("weight %d", s.Weight))
	}
	if m.Steps >= stepTier && run.Set[jobs.SetServiceTier].By == byUpgrade {
		done = append(done, s.ServiceTier+" instead of flex")
	}
	if weight := max(s.Weight, 1) * upgradeWeight; m.Steps < stepWeight && weight <= mostUpgraded {
		left = append(left, fmt.Sprintf("weight %d", weight))
	}
	if m.Steps < stepTier && s.ServiceTier == gemini.TierFlex {
		left = append(left, "standard instead of flex"+w.priceWords(run, gemini.TierFlex, gemini.TierStandard))
	}
	return done, left, nil
}

// byUpgrade is who has set what an upgrade did.
const byUpgrade = "nightshift, since it is late"

// priceWords say how much dearer a tier is than another; "" where no price is known.
func (w *RunWatch) priceWords(run jobs.Run, from, to string) string {
	if w.Dearer == nil {
		return ""
	}
	if times := w.Dearer(run, from, to); times > 0 {
		return fmt.Sprintf(", at %.3g x the price", times)
	}
	return ""
}
