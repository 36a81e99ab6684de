package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/worker"
)

// hold is what keeps a whole lane from working; the zero hold is nothing.
type hold struct {
	why   string    // a sentence without its full stop
	until time.Time // not before; zero: not known
	// unsure holds may last longer: until is when somebody looks again, or when more
	// money comes that others want too. Nobody knows an end of what they hold.
	unsure bool
	brief  string // why in a few words, for a column; "": why itself is short or has such a beginning
	paused bool   // it is a pause, which holds whether or not a worker is there
	firm   bool   // one of a person or a window, which ends at until and not before
	lift   string // the command that ends a person's; "" for what is not theirs

	failing bool // calls are made, and fail
}

// endless tells that nobody can say when what is held goes on.
func (h hold) endless(now time.Time) bool {
	return h.why != "" && (h.unsure || !h.until.After(now))
}

// holdOf looks for what keeps a lane from working, the worst first.
func (b *backend) holdOf(ctx context.Context, name string, fleet []worker.WorkerInfo, now time.Time) (hold, error) {
	if t := worker.NoWay(fleet, name); t != nil {
		return hold{why: fmt.Sprintf("the provider cannot be reached (%s) since %s, next try %s", t.Why, clock(t.Since, now), clock(t.Next, now)), until: t.Next, unsure: true}, nil
	}
	lane, err := limiter.ParseLane(name)
	if err != nil {
		return hold{}, err
	}
	if lane.Scope() != b.conf.scope() {
		return failingHold(fleet, name, now), nil // another project's limits are not ours to read
	}
	s, err := b.lim.State(ctx, lane)
	switch {
	case errors.Is(err, limiter.ErrUnknownLane):
		return hold{why: fmt.Sprintf("no limits are known for %s: add it to the workers' configuration and restart one", lane.Model)}, nil
	case err != nil:
		return hold{}, err
	case s.Broken() != nil:
		return hold{why: b.conf.breakerSentence(s.Broken(), now), until: s.Broken().Next, unsure: true}, nil
	case s.Cooldown != nil && s.Cooldown.Until.After(s.At):
		return hold{why: b.conf.restSentence(s.Cooldown, now), until: s.Cooldown.Until, unsure: true}, nil
	}
	return failingHold(fleet, name, now), nil
}

// failingHold is what the calls of a lane meet while the provider fails.
func failingHold(fleet []worker.WorkerInfo, lane string, now time.Time) hold {
	f := worker.ProviderFails(fleet, lane)
	if f == nil {
		return hold{}
	}
	return hold{why: failingSentence(f, now), failing: true}
}

func failingSentence(f *worker.Failing, now time.Time) string {
	return fmt.Sprintf("the provider %s since %s: %d of the last %d calls failed; rows wait and are tried again", f.Says(), clock(f.Since, now), f.Failed, f.Of)
}

// restSentence says why a lane rests, until when, and what would help.
func (l *loaded) restSentence(c *limiter.Cooldown, now time.Time) string {
	why := strings.TrimPrefix(orElse(c.Detail, string(c.Reason)), "provider: ")
	s := fmt.Sprintf("the provider refused (%s); rests until %s", why, clock(c.Until, now))
	switch {
	case c.Reason == limiter.ReasonCredentials:
		s += "; " + l.keyRemedy()
	case strings.Contains(why, "not_the_api"):
		s += "; is gemini.base_url right?"
	}
	return s
}

// breakerSentence says why calls are held back, since and until when, and who may
// change that.
func (l *loaded) breakerSentence(b *limiter.BreakerState, now time.Time) string {
	s := orElse(b.Detail, string(b.Reason)) + ": calls are held back since " + clock(b.Since, now)
	if !b.Until.IsZero() {
		s += " until " + clock(b.Until, now)
	}
	switch b.Phase {
	case limiter.BreakerOpen:
		if !b.Next.Equal(b.Until) {
			s += "; one call looks again at " + clock(b.Next, now)
		}
	case limiter.BreakerProbing:
		s += "; one call looks just now"
	case limiter.BreakerHalfOpen:
		s += "; the next call looks"
	}
	if b.Reason == limiter.ReasonCredentials {
		s += "; " + l.keyRemedy()
	}
	if strings.Contains(b.Detail, "not_the_api") {
		s += "; is gemini.base_url right?"
	}
	if b.Lift != "" {
		s += "; " + b.Lift
	}
	return s
}

// living are the workers of our project that were heard of just now: others will
// not take a lane up.
func (b *backend) living(fleet []worker.WorkerInfo) []worker.WorkerInfo {
	var out []worker.WorkerInfo
	for _, w := range fleet {
		if !w.Draining && w.Quiet <= aliveFor && (w.Project == "" || w.Project == b.conf.Gemini.Project) {
			out = append(out, w)
		}
	}
	return out
}

// aliveFor is how long a living worker is silent at most: it is heard of each second.
const aliveFor = 3 * time.Second

// lateCalls bounds the calls that a cancelled run still has out: those that were at its
// end, as far as the lane's workers are still busy.
func (b *backend) lateCalls(ctx context.Context, r jobs.Run, c jobs.Counts, fleet []worker.WorkerInfo) (int64, error) {
	most := inFlight(c, fleet, r.Spec.Lane)
	if c.Open() > 0 || most == 0 {
		return 0, nil
	}
	calls, err := b.store.CancelledCalls(ctx, r.ID)
	return min(most, calls), err
}

// inFlight bounds the calls that a lane has out for rows that were cancelled.
func inFlight(c jobs.Counts, fleet []worker.WorkerInfo, lane string) int64 {
	var busy int64
	for _, w := range fleet {
		for _, l := range w.Lanes {
			if l.Lane == lane {
				busy += int64(l.Busy)
			}
		}
	}
	return min(busy, c[jobs.Cancelled])
}
