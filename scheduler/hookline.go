package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// dueLines are what is due, by receiver and run: all that one receiver is to hear of a
// run, in the order of the run's life. A line is due when any of it is; what stands
// before that goes first, though its own next attempt would be later.
func dueLines(all []Delivery, now time.Time) map[string][][]Delivery {
	type line struct{ hook, run string }
	lines, due := map[line][]Delivery{}, []line{}
	for _, d := range all { // by when they are due
		at := line{d.Hook, d.Event.Run}
		lines[at] = append(lines[at], d)
		if !d.Next.After(now) && !slices.Contains(due, at) {
			due = append(due, at)
		}
	}
	out := map[string][][]Delivery{}
	for _, at := range due {
		slices.SortStableFunc(lines[at], func(a, b Delivery) int {
			return cmp.Or(a.First.Compare(b.First), begins(a)-begins(b), a.Event.At.Compare(b.Event.At), lifeOrder(a.Event.Kind)-lifeOrder(b.Event.Kind))
		})
		if first := lines[at][0]; first.Failed == "" && first.Next.After(now) {
			continue // another process is about to tell it, or was when it died
		}
		out[at.hook] = append(out[at.hook], lines[at])
	}
	return out
}

// begins puts a run's begin first: of one that nobody saw only a bound is known.
func begins(d Delivery) int { return min(lifeOrder(d.Event.Kind), 1) }

// lifeOrder decides between events of one moment.
func lifeOrder(kind string) int {
	switch kind {
	case RunStarted:
		return 0
	case RunFinished:
		return 2
	}
	return 1
}
