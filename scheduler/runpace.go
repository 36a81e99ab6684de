package scheduler

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// paceEvery is the time between two looks at how far a run is, and paceSpan that
	// which its pace is taken over.
	paceEvery = time.Minute
	paceSpan  = 15 * time.Minute
	// paceLeast is how long a run must have been looked at for its pace to say
	// anything.
	paceLeast = 5 * time.Minute
)

// measure looks once a minute at how far the run is; false while it is not time.
// What its own window let it have is kept with it, so that a pace of an hour with
// less says what it would be with more.
func (m *runMark) measure(f *followed) bool {
	if n := len(m.Paces); n > 0 {
		if gone := f.now.Sub(m.Paces[n-1].At); gone >= 0 && gone < paceEvery {
			return false
		}
		if gone := f.now.Sub(m.Paces[n-1].At); gone < 0 || gone > 2*paceSpan {
			m.Paces = nil // the clock was put back, or nobody looked for long
		}
	}
	m.Paces = append(m.Paces, runPace{f.now, f.counts.Total() - f.counts.Open(), f.share()})
	m.Paces = slices.DeleteFunc(m.Paces, func(p runPace) bool { return f.now.Sub(p.At) > paceSpan+paceEvery/2 })
	if perMin, ok := fullPace(m.Paces); ok {
		m.PerMin = perMin
	}
	return true
}

// fullPace is how many rows a minute end, or would with all that the window can
// give; false while too little was seen.
func fullPace(ps []runPace) (perMin float64, ok bool) {
	var open time.Duration // by the shares that it had
	var rows int64
	for i := 1; i < len(ps); i++ {
		if share := ps[i-1].PPM; share > 0 {
			open += time.Duration(float64(ps[i].At.Sub(ps[i-1].At)) * float64(share) / million)
			rows += ps[i].Ended - ps[i-1].Ended
		}
	}
	if len(ps) < 2 || ps[len(ps)-1].At.Sub(ps[0].At) < paceLeast || open < paceLeast/10 {
		return 0, false
	}
	return max(float64(rows), 0) / open.Minutes(), true // a retry opens rows again
}

// forecast is when the run is done, at its pace and by its window; zero for never.
// It is not known before a pace is.
func (w *RunWatch) forecast(f *followed) (done time.Time, known bool) {
	ps := f.mark.Paces
	if _, ok := fullPace(ps); !ok && f.mark.PerMin == 0 {
		return time.Time{}, false
	}
	if f.mark.PerMin <= 0 {
		return time.Time{}, ps[len(ps)-1].At.Sub(ps[0].At) >= paceSpan-paceEvery && !f.rate.Closed()
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

// coarse is a distance in hours and minutes.
func coarse(d time.Duration) string {
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
