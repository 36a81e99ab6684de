package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/scheduler"
)

// cappedError ends a command that follows a run which its own cap has stopped.
type cappedError struct {
	run jobs.Run
	why string // what is spent, and the command that goes on
}

func (e *cappedError) Error() string {
	return fmt.Sprintf("%s is stopped by its cap: %s", e.run.Title(), e.why)
}

// capped is the error for a run at its cap; nil while it may go on.
func (b *backend) capped(ctx context.Context, run jobs.Run) error {
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	at := slices.IndexFunc(pauses, func(p limiter.Pause) bool { return p.Run == run.ID && p.Reason == scheduler.ReasonBudget })
	if at < 0 {
		return nil
	}
	return &codedError{exitStopped, &cappedError{run, pauses[at].Detail}}
}

// capClosing is the end of a `run` that its cap has stopped, with a Redis of its own:
// it goes on with the same command and a higher cap.
func (s *session) capClosing(f *factory, capped *cappedError, counts jobs.Counts, out string) error {
	f.say("%s; results in %s", countsLine(counts), out)
	if s.embedded == nil {
		return &codedError{exitStopped, capped}
	}
	return &codedError{exitStopped, fmt.Errorf("%w.\n  %s rows are left: give the same command again with a higher --max-cost", capped, humanize.Comma(counts.Open()))}
}

// missedError says that a run was stopped by its deadline; nil where it was not.
func (b *backend) missedError(ctx context.Context, run jobs.Run) error {
	n, err := b.store.Missed(ctx, run.ID)
	if err != nil || n == 0 {
		return err
	}
	if run, err = b.store.Load(ctx, run.ID); err != nil {
		return err
	}
	name := typed(run)
	return &codedError{exitDeadline, fmt.Errorf("%s has missed its deadline: %s ended without a call.\n  nightshift set %s --deadline TIME, then nightshift retry %s --only deadline does the rest",
		run.Title(), plural(int(n), "row"), name, name)}
}

// lateNote says of a run that has ended after its deadline by how much; "" where it
// was in time.
func (b *backend) lateNote(ctx context.Context, run jobs.Run, now time.Time) string {
	run, err := b.store.Load(ctx, run.ID)
	s := run.Spec.Steer
	if err != nil || s.Deadline.IsZero() || s.Stops() || !now.After(s.Deadline) {
		return ""
	}
	return fmt.Sprintf("its deadline was %s", deadlineClock(b.conf, run.Spec, now))
}

// asCapped finds the error of a run at its cap.
func asCapped(err error) (*cappedError, bool) {
	var capped *cappedError
	ok := errors.As(err, &capped)
	return capped, ok
}

// ownCap tells a run's pause at its own cap: nobody knows when that is raised.
func ownCap(p *limiter.Pause) bool { return p.Run != "" && p.Reason == scheduler.ReasonBudget }

// pauseEnds is when a pause ends, as far as it is known: that of a run's window when
// the window opens, whatever lease it is under.
func (b *backend) pauseEnds(p *limiter.Pause, run jobs.Run, now time.Time) time.Time {
	if p.Run == "" || p.Reason != scheduler.ReasonWindow {
		return p.Until
	}
	w, err := scheduler.ParseTimetable("--window", run.Spec.Steer.Window, b.conf.zoneOf(run.Spec.Steer))
	if err != nil {
		return p.Until
	}
	_, until := w.RateAt(now)
	return until
}
