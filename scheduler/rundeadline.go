package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// EndLate ends the open rows of runs whose deadline has passed and stops them. No
// pause keeps it from that. It takes its time where many rows are open, so that it
// runs beside Look.
func (w *RunWatch) EndLate(ctx context.Context) error {
	now, err := w.Control.now(ctx)
	if err != nil {
		return err
	}
	ids, err := w.Control.Store.Watched(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		f, err := w.load(ctx, id)
		if errors.Is(err, jobs.ErrNoRun) || err == nil && !w.ours(f.Run) {
			continue
		}
		if err == nil && f.Spec.Steer.Late(now) > 0 {
			f.now = now
			err = w.endLate(ctx, f)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

func (w *RunWatch) endLate(ctx context.Context, f *followed) error {
	if f.counts.Open() > f.counts[jobs.Running] {
		return w.endRows(ctx, f)
	}
	return w.tellMissed(ctx, f)
}

func (w *RunWatch) endRows(ctx context.Context, f *followed) error {
	if _, err := w.Control.Store.Expire(ctx, f.ID, f.now); err != nil {
		return err
	}
	lane, err := limiter.ParseLane(f.Spec.Lane)
	if err != nil {
		return err
	}
	return w.Control.Limiter.DropLeaf(ctx, lane, PathOf(f.Run).Leaf())
}

// lastCalls is how long after the deadline calls that were under way may have to end
// before it is told how many rows had none: workers end rows too, and some of these
// come back.
const lastCalls = time.Minute

// tellMissed tells once what ended at a deadline, whoever ended it, and also where no
// scheduler ran then. How many rows it were the ledger says.
func (w *RunWatch) tellMissed(ctx context.Context, f *followed) error {
	late := f.Spec.Steer.Late(f.now)
	if late == 0 || f.counts.Open() > 0 && late < lastCalls {
		return nil
	}
	missed, err := w.Control.Store.Missed(ctx, f.ID)
	if err != nil || missed == 0 {
		return err
	}
	text := fmt.Sprintf("its deadline %s has passed; %s ended without a call: nightshift set %s --deadline TIME, then nightshift retry %s --only %s",
		w.clock(f, f.Spec.Steer.Deadline), rowsWord(missed), shown(f.Run), shown(f.Run), jobs.CauseDeadline)
	return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunLate, At: f.Spec.Steer.Deadline, Text: text, Occasion: passedOccasion(f.Spec.Steer.Deadline)})
}

// TellPassed tells of a run's deadline that has passed, by the run as it was before a
// person set another: from then on no look finds that it has.
func (w *RunWatch) TellPassed(ctx context.Context, was jobs.Run) error {
	now, err := w.Control.now(ctx)
	deadline := was.Spec.Steer.Deadline
	if err != nil || deadline.IsZero() || now.Before(deadline) {
		return err
	}
	missed, err := w.Control.Store.Missed(ctx, was.ID)
	if err != nil {
		return err
	}
	counts, err := w.Control.Store.Counts(ctx, was.ID)
	if err != nil || missed+counts.Open() == 0 {
		return err
	}
	text := fmt.Sprintf("its deadline %s has passed with %s open", w.clock(&followed{Run: was, now: now}, deadline), rowsWord(counts.Open()))
	if missed > 0 {
		text += fmt.Sprintf("; %s ended without a call: nightshift retry %s --only %s", rowsWord(missed), shown(was), jobs.CauseDeadline)
	}
	return w.Control.TellRun(ctx, RunEvent{Run: was.ID, Kind: RunLate, At: deadline, Text: text, Occasion: passedOccasion(deadline)})
}

// passedOccasion is that a deadline has passed, whoever sees it.
func passedOccasion(deadline time.Time) string {
	return "passed " + deadline.UTC().Format(time.RFC3339)
}

func rowsWord(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// PathOf is on whose behalf a run's calls are made.
func PathOf(run jobs.Run) limiter.Path {
	s := run.Spec
	return limiter.Path{Organization: s.Organization, Tenant: s.Tenant, Team: s.Team, Run: run.ID, Priority: limiter.Priority(s.Priority)}
}

// deadline says when the run will be late, and does more for one that shall be
// upgraded.
func (w *RunWatch) deadline(ctx context.Context, f *followed) error {
	s, m := f.Spec.Steer, &f.mark
	if !m.Of.Equal(s.Deadline) {
		m.Of, m.Behind, m.Steps, m.Stepped, m.Told = s.Deadline, 0, 0, time.Time{}, false
	}
	if s.Deadline.IsZero() || f.counts.Open() == 0 {
		m.Paces = nil
		return nil
	}
	if m.due(f) {
		if err := w.readStops(ctx, f); err != nil {
			return err
		}
	}
	looked := m.measure(f)
	switch {
	case !f.now.Before(s.Deadline) && s.Stops():
		return nil // EndLate's
	case !f.now.Before(s.Deadline):
		return w.passed(ctx, f)
	case !looked:
		return nil
	}
	done, known := w.forecast(f)
	planned := !known && m.Steps == stepNone && f.Planned != nil && !f.Planned.Done.IsZero()
	if planned { // too young for a pace of its own
		done, known = f.Planned.Done, true
	}
	switch {
	case !known:
		m.Behind = 0
		return nil
	case !s.Misses(done):
		if !s.Misses(done.Add(slack(s.Deadline.Sub(f.now)))) {
			m.Behind = 0
		}
		return nil
	}
	if m.Behind++; m.Behind < lateLooks && !planned {
		return nil
	}
	return errors.Join(w.late(ctx, f, done), w.upgrade(ctx, f, done))
}

// lateLooks is how many forecasts in a row have to be late. One that is in time by less
// than slack neither counts nor begins them anew.
const lateLooks = 3

// slack is by how much a forecast has to be in time to be called so: it is a forecast.
func slack(left time.Duration) time.Duration { return left / 50 }

func (w *RunWatch) passed(ctx context.Context, f *followed) error {
	text := fmt.Sprintf("its deadline %s has passed with %s open; it goes on", w.clock(f, f.Spec.Steer.Deadline), rowsWord(f.counts.Open()))
	if done, known := w.forecast(f); known && !done.IsZero() {
		text += ", and is done about " + w.clock(f, done)
	}
	return w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunLate, At: f.Spec.Steer.Deadline, Text: text, Occasion: passedOccasion(f.Spec.Steer.Deadline)})
}

// late tells once for each deadline that it will not be made.
func (w *RunWatch) late(ctx context.Context, f *followed, done time.Time) error {
	if f.mark.Told {
		return nil
	}
	err := w.Control.TellRun(ctx, RunEvent{Run: f.ID, Kind: RunLate, At: f.now, Text: w.forecastText(f, done),
		Occasion: "forecast " + f.Spec.Steer.Deadline.UTC().Format(time.RFC3339)})
	f.mark.Told = err == nil
	return err
}

// forecastText says when it will be done, and what then becomes of it.
func (w *RunWatch) forecastText(f *followed, done time.Time) string {
	deadline := f.Spec.Steer.Deadline
	s := "nothing has ended for " + coarse(f.mark.seen())
	if !done.IsZero() && f.mark.PerMin == 0 {
		s = fmt.Sprintf("it was expected to be done %s, %s after its deadline %s", w.clock(f, done), coarse(done.Sub(deadline)), w.clock(f, deadline))
	} else if !done.IsZero() {
		s = fmt.Sprintf("at the present pace (%s a minute) it is done %s, %s after its deadline %s", perMinute(f.mark.PerMin*float64(f.rate.PPM)/million),
			w.clock(f, done), coarse(done.Sub(deadline)), w.clock(f, deadline))
	}
	switch {
	case f.Spec.Steer.Stops():
		return s + fmt.Sprintf("; rows that are open then end. nightshift set %s --deadline TIME or --on-late continue changes that", shown(f.Run))
	case f.Spec.Steer.OnLate == jobs.LateContinue:
		return s + "; it goes on then"
	}
	return s
}
