package cli

import (
	"context"
	"fmt"
	"time"

	"nightshift/jobs"
	"nightshift/scheduler"
)

// lateWarning says that a run will have ended after its deadline; "" where it is in time.
func (l *loaded) lateWarning(run jobs.Run, end, now time.Time) string {
	s := run.Spec.Steer
	if !s.Misses(end) {
		return ""
	}
	what, zone := "", deadlineZone(l, run.Spec)
	if s.Stops() {
		what = "; rows that are left at the deadline end without a call"
	} else if s.OnLate == jobs.LateUpgrade {
		what = "; the scheduler now does more for it, see deadline above"
	}
	return fmt.Sprintf("warning: it is late: done about %s, its deadline is %s%s:\n"+
		"  nightshift set %s --deadline TIME, or nightshift plan shows faster ways", clockIn(end, now, zone), deadlineClock(l, run.Spec, now), what, typed(run))
}

// pausedPast names the open runs whose deadline comes while a pause holds them.
func (b *backend) pausedPast(ctx context.Context, t scheduler.Target, until, now time.Time) (lines []string, err error) {
	runs, err := b.ourRuns(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		at := r.Spec.Steer.Deadline
		if !closes(t, r) || at.IsZero() || at.Before(now) || !until.IsZero() && until.Before(at) {
			continue
		}
		c, err := b.store.Counts(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		if c.Open() > 0 {
			lines = append(lines, fmt.Sprintf("warning: the deadline of %s is %s, in the pause: nightshift set %s --deadline TIME, or nightshift resume %s before",
				r.Title(), deadlineClock(b.conf, r.Spec, now), typed(r), orElse(t.Class, typed(r))))
		}
	}
	return lines, nil
}
