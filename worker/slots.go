package worker

import (
	"context"
	"sync/atomic"
	"time"

	"nightshift/jobs"
)

// slots are the calls that a lane may have in flight in this process. asynq has
// slots of its own, but gives one back as soon as a task's context ends, while
// the call may still run (processor.go, exec): ours are given back by the
// handler itself. asynq's are more (sweepSlots), so that new jobs get their
// place in the limiter's line while all calls are busy.
type slots struct {
	free    chan struct{} // one token for each free slot
	refused atomic.Int64  // when the lane last refused somebody, Unix nanoseconds
	calls   atomic.Bool   // that was for want of calls that may be under way
	pulled  atomic.Int64  // when a job last came that had waited, Unix nanoseconds
}

// sweepSlots is how many tasks a lane may look at beside its calls. Many new
// jobs at once are lined up in another way (lineup.go).
const sweepSlots = 8

// recently is how long a refusal says that the lane is short of quota, so that
// a job without a slot should queue there and not here.
const recently = 5 * time.Second

func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

func (s *slots) size() int { return cap(s.free) }
func (s *slots) idle() int { return len(s.free) }
func (s *slots) busy() int { return cap(s.free) - len(s.free) }
func (s *slots) give()     { s.free <- struct{}{} }

func (s *slots) try() bool {
	select {
	case <-s.free:
		return true
	default:
		return false
	}
}

// deny notes that the lane refused a permit, and what was waited for.
func (s *slots) deny(c jobs.WaitCause, now time.Time) {
	s.calls.Store(c == jobs.WaitSlots)
	s.refused.Store(now.UnixNano())
}

// cause is what a row waits for that has only a place in the line: what the lane is
// short of.
func (s *slots) cause() jobs.WaitCause {
	if s.calls.Load() {
		return jobs.WaitSlots
	}
	return jobs.WaitQuota
}

func (s *slots) short(now time.Time) bool {
	return now.Sub(time.Unix(0, s.refused.Load())) < recently
}

// letGo notes that a job came that had waited for its turn.
func (s *slots) letGo(now time.Time) { s.pulled.Store(now.UnixNano()) }

// pulling says that jobs come because a pull lets them go.
func (s *slots) pulling(now time.Time) bool {
	return now.Sub(time.Unix(0, s.pulled.Load())) < recently
}

// slotWait bounds the wait for a slot: with a call and its storing it stays
// within a task's timeout (jobs.StoreOptions.Timeout), at which asynq would give
// the task to somebody else.
const slotWait = 3 * time.Minute

// take waits for a slot. It gives up after slotWait, and when the lane is short of quota, where a
// ticket is the better place to wait; a job that a pull let go has its quota
// already and waits for a slot as long as the release holds.
func (s *slots) take(ctx context.Context, pulled bool, now func() time.Time) bool {
	if s.try() {
		return true
	}
	for start := now(); ; {
		waited := now().Sub(start)
		if waited >= slotWait || pulled && waited >= recently || !pulled && s.short(now()) {
			return false
		}
		select {
		case <-s.free:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(250 * time.Millisecond):
		}
	}
}
