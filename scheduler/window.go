package scheduler

import (
	"time"
)

// Window says how much of each limit a class may use at which time of day. The
// zero Window is all of it, always.
type Window struct {
	Text  string // as it was written
	zone  *time.Location
	parts []windowPart
	other int64 // ppm outside of all parts
}

// windowPart holds from one minute of the day up to another; over midnight when
// the second comes first.
type windowPart struct {
	from, to int // minutes since midnight; to may be 24:00
	ppm      int64
}

func (p windowPart) has(minute int) bool {
	if p.from < p.to {
		return p.from <= minute && minute < p.to
	}
	return minute >= p.from || minute < p.to
}

// lookAhead bounds the search for the next change: clocks repeat after a day,
// and a change of daylight saving time moves them by an hour or two.
const lookAhead = 27 * time.Hour

// At gives the share at a time, in ppm, and when that changes next; zero when it
// never does. The clock on the wall decides: what the switch to summer time
// leaves out does not happen, what the switch back repeats happens twice.
func (w Window) At(t time.Time) (ppm int64, until time.Time) {
	if w.zone == nil {
		return million, time.Time{}
	}
	ppm = w.share(t)
	for at := t.Truncate(time.Minute).Add(time.Minute); at.Sub(t) < lookAhead; at = at.Add(time.Minute) {
		if w.share(at) != ppm {
			return ppm, at
		}
	}
	return ppm, time.Time{}
}

// before gives the share of just before the last change and the moment of that,
// looked for as far back as reach; zero when there was none.
func (w Window) before(t time.Time, reach time.Duration) (ppm int64, since time.Time) {
	if w.zone == nil {
		return million, time.Time{}
	}
	now := w.share(t)
	for at := t.Truncate(time.Minute); t.Sub(at) <= reach; at = at.Add(-time.Minute) {
		if was := w.share(at.Add(-time.Minute)); was != now {
			return was, at
		}
	}
	return now, time.Time{}
}

func (w Window) share(t time.Time) int64 {
	t = t.In(w.zone)
	minute := t.Hour()*60 + t.Minute()
	for _, p := range w.parts {
		if p.has(minute) {
			return p.ppm
		}
	}
	return w.other
}
