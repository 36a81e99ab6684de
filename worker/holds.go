package worker

import (
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
)

// holds is which rows were refused lately because they are paused. New rows that
// are only lined up are told nothing but that they have a place: of a paused run
// they wait as long as those that asked, and not the usual moment, so that each
// is looked at once a pause. When it is over a pull brings them, whatever their
// time.
type holds struct {
	mu sync.Mutex
	by map[holdKey]hold
}

// holdKey is what a pause may be of, all together: whoever shares it is paused
// too. The lane is the holds' own.
type holdKey struct {
	class, run string
	priority   jobs.Priority
}

type hold struct {
	why   string
	cause jobs.WaitCause
	until time.Time // when the row that asked comes back
	noted time.Time
}

// holdFor is how long a refusal is taken for the others' too. A row that asks
// comes by every few seconds while new ones arrive.
const holdFor = 30 * time.Second

// holdSpread keeps the rows from coming back as one herd where nobody pulls.
const holdSpread = 5 * time.Minute

func (j *job) held() holdKey {
	return holdKey{class: j.run.Spec.Class, run: j.task.Run, priority: j.run.Spec.Priority}
}

func (h *holds) note(k holdKey, v hold, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		h.by = map[holdKey]hold{}
	}
	for old, v := range h.by {
		if now.Sub(v.noted) > holdFor {
			delete(h.by, old)
		}
	}
	v.noted = now
	h.by[k] = v
}

func (h *holds) forget(k holdKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.by, k)
}

func (h *holds) get(k holdKey, now time.Time) (hold, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.by[k]
	return v, ok && now.Sub(v.noted) <= holdFor && now.Before(v.until)
}

// apart is a part of holdSpread of the row's own.
func (j *job) apart() time.Duration {
	return time.Duration(j.task.Index*7919%holdSpread.Milliseconds()) * time.Millisecond
}

// heldBack is what a refusal means for the row, and what it says of its run.
func (l *lane) heldBack(j *job, d *limiter.Denied, now time.Time) outcome {
	out := refused(d)
	switch d.Reason {
	case limiter.ReasonTooLarge: // of money, or it has ended: no line has a place for what never fits
		if out.wait > 0 {
			out.wait += j.apart()
		}
	case limiter.ReasonPaused:
		l.holds.note(j.held(), hold{why: out.why, cause: out.cause, until: now.Add(out.wait)}, now)
	case limiter.ReasonSlots:
		out.cause = l.slots.cause()
		if h, ok := l.holds.get(j.held(), now); ok {
			out.why, out.cause, out.until, out.wait = h.why, h.cause, h.until, h.until.Sub(now)+j.apart()
		}
	default:
		l.holds.forget(j.held())
	}
	return out
}
