package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"nightshift/jobs"
	"nightshift/limiter"
)

// brakedError ends a command that follows a run which its brake has stopped.
type brakedError struct{ jobs.Braked }

func (e *brakedError) Error() string {
	return fmt.Sprintf("%s is stopped by its brake: %s", e.Run.Title(), e.Sentence())
}

// stopped is the error for a run whose brake has tripped, or that is at its cap; nil
// while it may go on.
func (b *backend) stopped(ctx context.Context, run jobs.Run) error {
	said, tripped, err := b.store.Brake(ctx, run.ID)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if !tripped {
		return b.capped(ctx, run)
	}
	e := &brakedError{said}
	name := shellWord(run.Title())
	return &codedError{exitStopped, fmt.Errorf("%w.\n  nightshift errors %s lists what failed. Mend it, then nightshift resume %s lets the rest go on", e, name, name)}
}

// stopClosing is the end of a `run` that ended with an error. One that was stopped
// by its brake has results, and rows that nothing was spent on.
func (s *session) stopClosing(f *factory, err error, counts jobs.Counts, out string) error {
	if capped, is := asCapped(err); is {
		return s.capClosing(f, capped, counts, out)
	}
	var braked *brakedError
	if !errors.As(err, &braked) {
		return err
	}
	f.say("%s; results in %s", countsLine(counts), out)
	if s.embedded == nil {
		return err
	}
	return &codedError{exitStopped, fmt.Errorf("%w.\n  %s rows were not called for. Mend what is wrong and give the same command again; with --halt off it goes on whatever fails",
		braked, humanize.Comma(counts.Open()))}
}

// brakeSentence is the pause of a run that its brake has stopped.
func brakeSentence(p *limiter.Pause, now time.Time) string {
	return fmt.Sprintf("run %s is stopped by its brake since %s (%s); mend what is wrong, then nightshift resume %s lets the rest go on",
		p.Run, clock(p.Since, now), p.Detail, p.Run)
}
