package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
)

// deadlineWords say when a run has to be done and, while rows are open, what follows; of
// one that has ended they say when that was. "" where it has no deadline.
func (b *backend) deadlineWords(ctx context.Context, run jobs.Run, c jobs.Counts, now time.Time) (string, error) {
	s := run.Spec.Steer
	at := deadlineClock(b.conf, run.Spec, now)
	switch {
	case s.Deadline.IsZero():
		return "", nil
	case c.Open() == 0 && c[jobs.Expired] > 0 && s.Stops():
		return at + "; open rows ended then", nil
	case c.Open() == 0:
		return at, nil
	}
	shown := showDeadline(b.conf, run.Spec, now)
	switch {
	case s.Late(now) > 0:
		return shown + "; open rows end now", nil
	case !now.Before(s.Deadline):
		return shown + "; it goes on", nil
	case s.Stops():
		return shown + "; then open rows end", nil
	case s.OnLate == jobs.LateContinue:
		return shown + "; it goes on then", nil
	}
	done, left, err := b.runWatch().UpgradePlan(ctx, run)
	return shown + upgradeWords(done, left), err
}

// upgradeWords say what was done for a run whose deadline is in danger, and what is left
// to do.
func upgradeWords(done, left []string) string {
	if len(done) == 0 && len(left) == 0 {
		return "; it goes on then, nothing more can be done before"
	}
	s, when := "", "if it falls behind"
	if len(done) > 0 {
		s, when = fmt.Sprintf("; raised since it is late: %s", strings.Join(done, ", ")), "if that is not enough"
	}
	if len(left) == 0 {
		return s + "; nothing more can be done, it goes on then"
	}
	return s + "; " + when + ": " + strings.Join(left, ", then ")
}
