package scheduler

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"nightshift/limiter"
)

const (
	// paceEvery is the longest time between two looks at how far a run is, and paceSpan
	// that which its pace is taken over.
	paceEvery = time.Minute
	paceSpan  = 15 * time.Minute
	// paceLeast is how long a run must have been looked at for its pace to say
	// anything, at most: one whose deadline is near cannot wait for that.
	paceLeast = 5 * time.Minute
	// paceSoonest is the least time between two looks, and a quarter of what says
	// anything.
	paceSoonest = 2 * time.Second
)

// looksEvery and least are paceEvery and paceLeast of a run that has so much time left:
// ten looks in it, and half of it.
func looksEvery(left time.Duration) time.Duration { return min(max(left/10, paceSoonest), paceEvery) }
func least(left time.Duration) time.Duration      { return min(max(left/2, 4*paceSoonest), paceLeast) }

// left is how long it is until the run's deadline; without one, and after it, nothing is
// near.
func (f *followed) left() time.Duration {
	if left := f.Spec.Steer.Deadline.Sub(f.now); left > 0 {
		return left
	}
	return farOff
}

// measure looks at times at how far the run is; false while it is not time.
// What its own window let it have is kept with it, so that a pace of an hour with
// less says what it would be with more.
func (m *runMark) measure(f *followed) bool {
	if !m.due(f) {
		return false
	}
	var shut time.Duration
	if n := len(m.Paces); n > 0 {
		shut = PausedFor(f.stops, m.Paces[n-1].At, f.now)
		if gone := f.now.Sub(m.Paces[n-1].At); gone < 0 || gone > 2*paceSpan {
			m.Paces = nil // the clock was put back, or nobody looked for long
		}
	}
	m.Paces = append(m.Paces, runPace{f.now, f.counts.Total() - f.counts.Open(), f.share(), shut})
	m.Paces = slices.DeleteFunc(m.Paces, func(p runPace) bool { return f.now.Sub(p.At) > paceSpan+paceEvery/2 })
	if perMin, ok := fullPace(m.Paces, least(f.left())); ok {
		m.PerMin = perMin
	}
	return true
}

// due says that it is time for a look.
func (m *runMark) due(f *followed) bool {
	n := len(m.Paces)
	if n == 0 {
		return true
	}
	gone := f.now.Sub(m.Paces[n-1].At)
	return gone < 0 || gone >= looksEvery(f.left())
}

// readStops finds when a person had the run paused: that is no part of its pace, as the
// pauses are by which the fleet's state holds it back.
func (w *RunWatch) readStops(ctx context.Context, f *followed) error {
	lane, err := limiter.ParseLane(f.Spec.Lane)
	if err != nil {
		return err
	}
	list, err := w.Control.Limiter.Closings(ctx, lane, f.Spec.Class, PathOf(f.Run), f.Spec.Feature)
	f.stops = slices.DeleteFunc(list, func(c limiter.Closing) bool { return c.Reason != ReasonOperator })
	return err
}

// seen is over which time the run's pace was looked at.
func (m runMark) seen() time.Duration {
	if len(m.Paces) == 0 {
		return 0
	}
	return m.Paces[len(m.Paces)-1].At.Sub(m.Paces[0].At)
}

// fullPace is how many rows a minute end, or would with all that the window can
// give; false while too little was seen.
func fullPace(ps []runPace, least time.Duration) (perMin float64, ok bool) {
	var open time.Duration // by the shares that it had
	var rows int64
	for i := 1; i < len(ps); i++ {
		if share := ps[i-1].PPM; share > 0 {
			open += time.Duration(float64(ps[i].At.Sub(ps[i-1].At)-ps[i].Shut) * float64(share) / million)
			rows += ps[i].Ended - ps[i-1].Ended
		}
	}
	if len(ps) < 2 || ps[len(ps)-1].At.Sub(ps[0].At) < least || open < least/10 {
		return 0, false
	}
	return max(float64(rows), 0) / open.Minutes(), true // a retry opens rows again
}

// forecast is when the run is done, at its pace and by its window; zero for never.
// It is not known before a pace is.
func (w *RunWatch) forecast(f *followed) (done time.Time, known bool) {
	ps := f.mark.Paces
	if _, ok := fullPace(ps, least(f.left())); !ok && f.mark.PerMin == 0 {
		return time.Time{}, false
	}
	if f.mark.PerMin <= 0 {
		return time.Time{}, f.mark.seen() >= min(paceSpan-paceEvery, max(f.left(), 4*paceSoonest)) && !f.rate.Closed()
	}
	need := time.Duration(math.Min(float64(f.counts.Open())/f.mark.PerMin*float64(time.Minute), float64(farOff)))
	return w.after(f, need), true
}

// farOff bounds forecasts.
const farOff = 60 * 24 * time.Hour

// after is when so much time of full share has gone by, by the run's window.
func (w *RunWatch) after(f *followed, need time.Duration) time.Time {
	if f.Spec.Steer.Window == "" {
		return f.now.Add(need)
	}
	t, err := w.table(f)
	if err != nil {
		return f.now.Add(need)
	}
	for at, i := f.now, 0; i < 1000; i++ {
		rate, until := t.RateAt(at)
		takes := farOff
		if !rate.Closed() {
			takes = time.Duration(float64(need) * million / float64(rate.PPM))
		}
		if until.IsZero() || !at.Add(takes).After(until) {
			return at.Add(takes)
		}
		need -= time.Duration(float64(until.Sub(at)) * float64(rate.PPM) / million)
		at = until
	}
	return f.now.Add(farOff)
}

// perMinute is a pace for people.
func perMinute(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1f rows", n)
	}
	return fmt.Sprintf("%.0f rows", n)
}

// coarse is a distance in hours and minutes; in seconds where it is short.
func coarse(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int64(math.Ceil(d.Seconds())))
	}
	d = d.Round(time.Minute)
	h, m := int(d.Hours()), int(d.Minutes())%60
	switch {
	case h >= 48:
		return fmt.Sprintf("%d days", h/24)
	case h > 0 && m > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case h > 0:
		return fmt.Sprintf("%d h", h)
	}
	return fmt.Sprintf("%d min", m)
}
