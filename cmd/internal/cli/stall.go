package cli

import (
	"context"
	"time"

	"nightshift/jobs"
	"nightshift/worker"
)

// stallAfter is how long nothing ends until who waits for it is told why.
const stallAfter = 15 * time.Second

// stall says once why nothing of a run moves, and again only when something moved
// in between.
type stall struct {
	done int64
	next time.Time // when it is looked why
	said bool
}

// due tells that it is time to look why nothing moves.
func (x *stall) due(done int64, now time.Time) bool {
	switch {
	case x.next.IsZero(), done != x.done:
		*x = stall{done: done, next: now.Add(stallAfter)}
		return false
	case x.said, now.Before(x.next):
		return false
	}
	x.next = now.Add(stallAfter)
	return true
}

// sayStall tells why a run does not move; what cannot be looked up is not told. own is
// a worker that serves it, whether or not it is one of the fleet.
func (b *backend) sayStall(ctx context.Context, s *streams, x *stall, run jobs.Run, c jobs.Counts, now time.Time, own ...worker.WorkerInfo) {
	if !x.due(c.Total()-c.Open(), now) {
		return
	}
	fleet, err := worker.Fleet(ctx, b.rdb)
	if err != nil {
		return
	}
	pauses, err := b.lim.Pauses(ctx)
	if err != nil {
		return
	}
	fleet = append(fleet, own...)
	why := "no worker serves its lane: start one with `nightshift worker`"
	if n, _ := worker.Serving(b.living(fleet), run.Spec.Lane); n > 0 || pauseOf(pauses, run) != nil {
		h, err := b.runHold(ctx, run, pauses, fleet, now)
		if err != nil {
			return
		}
		why = h.why
	}
	if why == "" && c[jobs.Waiting] > 0 && c[jobs.Running] == 0 {
		if why, err = b.waitsFor(ctx, run, now); err != nil {
			return
		}
	}
	if x.said = why != ""; x.said {
		s.say("%s does not move: %s", run.Title(), why)
	}
}
