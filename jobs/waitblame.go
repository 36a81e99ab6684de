package jobs

import (
	"cmp"
	"slices"
	"time"
)

// Stretch is a stretch of time in which none of a run's rows could go on, and for what.
type Stretch struct {
	Cause WaitCause
	From  time.Time
	To    time.Time // zero: it goes on
}

// blamed are the causes by which one that holds beside another has the time: what a
// person did or wanted before what came about, and that no worker was there before what
// one would have met.
var blamed = [NumWaits]WaitCause{WaitPaused, WaitWindow, WaitSpend, WaitHealth, WaitQueue, WaitErrors, WaitQuota, WaitSlots, WaitTurn}

// Closed is when a run was closed: spans in order that do not overlap.
type Closed []Stretch

// NewClosed puts spans in order. Where several overlap, the first of blamed has the
// time. Those that end before they begin are nothing.
func NewClosed(spans []Stretch) Closed {
	var out Closed
	for _, c := range blamed {
		out = out.with(unite(c, spans))
	}
	return out
}

// never is the end of what goes on.
var never = time.UnixMilli(1 << 53)

// unite gives those of one cause, each stretch of time once.
func unite(c WaitCause, spans []Stretch) []Stretch {
	var own []Stretch
	for _, s := range spans {
		if s.To.IsZero() {
			s.To = never
		}
		if s.Cause == c && s.From.Before(s.To) {
			own = append(own, s)
		}
	}
	slices.SortFunc(own, func(a, b Stretch) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	out := own[:0]
	for _, s := range own {
		if n := len(out); n > 0 && !s.From.After(out[n-1].To) {
			out[n-1].To = latest(out[n-1].To, s.To)
			continue
		}
		out = append(out, s)
	}
	return out
}

// with adds what of some spans, which are in order and do not overlap, is free.
func (k Closed) with(spans []Stretch) Closed {
	out := slices.Clone(k)
	for _, s := range spans {
		at := s.From
		for _, taken := range k.from(s.From) {
			if !taken.From.Before(s.To) {
				break
			}
			if at.Before(taken.From) {
				out = append(out, Stretch{s.Cause, at, taken.From})
			}
			at = latest(at, taken.To)
		}
		if at.Before(s.To) {
			out = append(out, Stretch{s.Cause, at, s.To})
		}
	}
	slices.SortFunc(out, func(a, b Stretch) int { return a.From.Compare(b.From) })
	return out
}

// from gives those that end after a moment.
func (k Closed) from(t time.Time) Closed {
	i, _ := slices.BinarySearchFunc(k, t, func(s Stretch, t time.Time) int {
		if s.To.After(t) {
			return 1
		}
		return -1
	})
	return k[i:]
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// blame takes what the spans cover of the time from..to, which counts for c, and gives
// it to their causes. The sum stays.
func (w *Waits) blame(c WaitCause, from, to time.Time, k Closed) {
	for _, s := range k.from(from) {
		if !s.From.Before(to) {
			return
		}
		begin, end := latest(from, s.From), s.To
		if end.After(to) {
			end = to
		}
		w[c] -= end.Sub(begin)
		w[s.Cause] += end.Sub(begin)
	}
}
