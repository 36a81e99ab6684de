package cli

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"nightshift/scheduler"
)

// wider keeps timetables as far open as they ever are, for a while.
type wider struct {
	gates    []gate
	from, to time.Time
	rate     scheduler.Rate
}

func (w wider) RateAt(t time.Time) (scheduler.Rate, time.Time) {
	rate, until := atAll(w.gates, t)
	switch {
	case t.Before(w.from):
		return rate, sooner(until, w.from)
	case !t.Before(w.to):
		return rate, until
	case faster(w.rate, rate):
		rate = w.rate
	}
	return rate, sooner(until, w.to)
}

// sooner is the first of two moments; the first may be zero for never.
func sooner(a, b time.Time) time.Time {
	if !a.IsZero() && a.Before(b) {
		return a
	}
	return b
}

// widest is the most that timetables ever leave, looked at over some weeks of them.
func widest(gates []gate, now time.Time) scheduler.Rate {
	best, at := atAll(gates, now)
	for range mostTurns {
		if at.IsZero() {
			break
		}
		var rate scheduler.Rate
		if rate, at = atAll(gates, at); faster(rate, best) {
			best = rate
		}
	}
	return best
}

// lastClose is the last time before a deadline at which timetables leave less than just
// before; zero where they never do.
func lastClose(gates []gate, now, deadline time.Time) (last time.Time) {
	rate, at := atAll(gates, now)
	for !at.IsZero() && at.Before(deadline) {
		less, next := atAll(gates, at)
		if faster(rate, less) {
			last = at
		}
		rate, at = less, next
	}
	return last
}

// widened leaves a window open for longer than it is: on from where it closes, else from
// now on.
func (p prospect) widened(deadline time.Time, _ string) (way, bool) {
	gates, rising := windowsOf(p.runs[0].gates)
	rate := widest(gates, p.now)
	if now, _ := atAll(gates, p.now); rate.Closed() || !faster(rate, now) && lastClose(gates, p.now, deadline).IsZero() {
		return way{}, false
	}
	for _, from := range []time.Time{lastClose(gates, p.now, deadline), p.now} {
		if from.IsZero() {
			continue
		}
		until := func(minutes int) (time.Time, bool) {
			q, w := p, wider{gates, from, from.Add(time.Duration(minutes) * time.Minute), rate}
			q.runs = slices.Clone(p.runs)
			q.runs[0].gates = append([]gate{w}, rising...)
			return q.by(deadline)
		}
		most := int(deadline.Sub(from).Minutes()) + 1
		need := sort.Search(most, func(n int) bool { _, ok := until(n); return ok })
		if end, ok := until(need); ok {
			return way{What: widerWords(from, p.now, time.Duration(need)*time.Minute), Done: end}, true
		}
	}
	return way{}, false
}

func widerWords(from, now time.Time, longer time.Duration) string {
	to := from.Add(longer).Local().Format("15:04 MST")
	if from.Equal(now) {
		return fmt.Sprintf("open the window now, until %s", to)
	}
	return fmt.Sprintf("close the window %s later, at %s", ago(longer), to)
}
