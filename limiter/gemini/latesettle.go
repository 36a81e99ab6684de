package gemini

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"nightshift/limiter"
)

const (
	// lateMost bounds what is kept of an outage; beyond it the oldest permits
	// lapse at their estimates.
	lateMost = 10_000
	// lateFor is how long after its lease the limiter still takes a permit's
	// settlement.
	lateFor = time.Hour
	// lateFirst and lateLast are the pauses between tries, doubled each time.
	lateFirst, lateLast = time.Second, 5 * time.Second
)

// lateSettlements are those that the shared state did not take: it was away, or
// out of memory. They are offered again until it takes them, so that what was
// used beyond an estimate is charged, and what was not used is given back; and so
// are calls that went out without a permit meanwhile. They end with the process:
// then the permits lapse at their estimates.
type lateSettlements struct {
	gate Gate
	log  *slog.Logger
	wait time.Duration // for one answer

	mu      sync.Mutex
	list    []lateSettlement // the oldest first; guarded by mu
	working bool             // a goroutine offers them; guarded by mu
	lost    tally
}

type lateSettlement struct {
	limiter.Settlement
	charge *limiter.Request // takes the permit first, of a call that had none; nil where there is one
	until  time.Time
}

// keep takes a settlement that was refused, or got no answer, for a permit whose
// lease is that long.
func (l *lateSettlements) keep(s limiter.Settlement, lease time.Duration, cause error) {
	if l.add(lateSettlement{Settlement: s, until: time.Now().Add(lease + lateFor)}) {
		l.log.Warn("the shared state takes no settlements: they are kept and offered again",
			"lane", s.Lane.String(), "permit", s.ID, "error", Redact(cause.Error()))
	}
}

// owe charges a call that went out by the local allowance, with what it used, once
// the shared state is back: its limits of days and months, and its money, would
// never hear of it otherwise.
func (l *lateSettlements) owe(q limiter.Request) {
	q.Force, q.Owed = true, true
	s := limiter.Settlement{ID: q.ID, Lane: q.Lane, Outcome: limiter.Settled, Used: q.Amounts}
	if l.add(lateSettlement{Settlement: s, charge: &q, until: time.Now().Add(lateFor)}) {
		l.log.Warn("calls went out while the shared state was away: they are charged when it is back", "lane", s.Lane.String())
	}
}

// add puts one at the end, and tells whether it is the first of an outage.
func (l *lateSettlements) add(s lateSettlement) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= lateMost {
		l.drop(l.list[0].Settlement)
		l.list = l.list[1:]
	}
	l.list = append(l.list, s)
	if first = !l.working; first {
		l.working = true
		go l.work()
	}
	return first
}

// keepUnsure takes the release of a permit that was given or not: nobody heard. It
// must not push out what is known.
func (l *lateSettlements) keepUnsure(s limiter.Settlement, lease time.Duration, cause error) {
	l.mu.Lock()
	room := len(l.list) < lateMost/2
	l.mu.Unlock()
	if room {
		l.keep(s, lease, cause)
	}
}

func (l *lateSettlements) drop(s limiter.Settlement) {
	if n, due := l.lost.note(time.Now()); due {
		l.log.Warn("settlements lost, their permits lapse at their estimates", "count", n,
			"lane", s.Lane.String(), "permit", s.ID, "outcome", string(s.Outcome))
	}
}

// work ends when nothing is left to offer.
func (l *lateSettlements) work() {
	pause, taken := lateFirst, 0
	for {
		<-time.After(pause) // nobody ends it early: what is kept is owed
		n := l.offer()
		taken += n
		if l.done() {
			l.log.Info("settlements that were kept have been taken", "count", taken)
			return
		}
		if pause = min(2*pause, lateLast); n > 0 {
			pause = lateFirst
		}
	}
}

// done ends the work when the list is empty, in one step with looking at it.
func (l *lateSettlements) done() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working = len(l.list) > 0
	return !l.working
}

// offer gives the oldest ones until one is refused, and tells how many were taken.
func (l *lateSettlements) offer() (taken int) {
	for s, ok := l.oldest(); ok; s, ok = l.oldest() {
		if l.settle(&s) != nil {
			l.putBack(s)
			return taken
		}
		taken++
	}
	return taken
}

// oldest takes the first one that is not too old from the list.
func (l *lateSettlements) oldest() (lateSettlement, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.list) > 0 {
		s := l.list[0]
		l.list = l.list[1:]
		if time.Now().Before(s.until) {
			return s, true
		}
		l.drop(s.Settlement)
	}
	return lateSettlement{}, false
}

// putBack keeps it as the last one: should it alone be refused, the others go on.
func (l *lateSettlements) putBack(s lateSettlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
}

func (l *lateSettlements) settle(s *lateSettlement) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.wait)
	defer cancel()
	if s.charge != nil {
		if _, err := l.gate.Acquire(ctx, *s.charge); err != nil {
			return err
		}
		s.charge = nil
	}
	return l.gate.Settle(ctx, s.Settlement)
}
