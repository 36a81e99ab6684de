package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"nightshift/limiter"
)

// eventsFor is how far back pages of runs tell what happened.
const eventsFor = 7 * 24 * time.Hour

// eventLog keeps the events that were read: there are 20,000 of them in a busy fleet, of
// which only the last few are new to a page.
type eventLog struct {
	mu   sync.Mutex
	list []limiter.Event // in the order of time, back to eventsFor at least; not changed, but replaced; guarded by mu
	read bool            // guarded by mu
}

// since gives the events from a time on, no further back than eventsFor: those that are
// known, and what read finds besides.
func (l *eventLog) since(ctx context.Context, from, now time.Time, read func(ctx context.Context, since time.Time, n int) ([]limiter.Event, error)) ([]limiter.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := now.Add(-eventsFor - time.Minute)
	if n := len(l.list); l.read && n > 0 {
		last = l.list[n-1].At // of that millisecond there may be more
	}
	fresh, err := read(ctx, last, 0)
	if err != nil {
		return nil, err
	}
	before := firstAt(l.list, last)
	if len(fresh) != len(l.list)-before {
		l.list = slices.Concat(l.list[firstAt(l.list, now.Add(-eventsFor-time.Minute)):before], fresh)
	}
	l.read = true
	return slices.Clip(l.list[firstAt(l.list, from):]), nil
}

// firstAt is the place of the first event of a time or later.
func firstAt(list []limiter.Event, at time.Time) int {
	i, _ := slices.BinarySearchFunc(list, at, func(e limiter.Event, at time.Time) int { return e.At.Compare(at) })
	return i
}
