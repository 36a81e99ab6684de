package worker

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The provider fails for a lane when so many of its last calls failed of what may
// be the provider's trouble, and those were at least half of them. It is well
// again after some good answers in a row, or when it was not asked for so long.
const (
	failingOf    = 20
	failingLeast = 5
	failingGood  = 5
	failingKept  = 5 * time.Minute
)

// Failing is what a lane's calls meet at the provider while it fails: the rows
// wait and are tried again.
type Failing struct {
	Since  time.Time   `json:"since"`  // of the first failure that counts
	Failed int         `json:"failed"` // calls of the last Of
	Of     int         `json:"of"`     // at most 20 for each worker
	Causes []FailCause `json:"causes"` // the most frequent first
}

// FailCause is what calls failed of.
type FailCause struct {
	Status int    `json:"status"` // of HTTP; 0: no answer came
	Reason string `json:"reason"` // of the verdict: "overloaded"
	Calls  int    `json:"calls"`
}

func (c FailCause) String() string { return fmt.Sprintf("%d (%s)", c.Status, c.Reason) }

// Says is what the provider does, for people: "answers 503 (overloaded), also 500
// (server_error)".
func (f *Failing) Says() string {
	if len(f.Causes) == 0 {
		return "answers no call"
	}
	s := f.Causes[0].does()
	for _, c := range f.Causes[1:min(len(f.Causes), 3)] {
		also := c.String()
		if c.Status == 0 {
			also = "nothing (" + c.Reason + ")"
		}
		s += ", also " + also
	}
	return s
}

func (c FailCause) does() string {
	switch {
	case c.Status == 0 && c.Reason == reasonConnection:
		return "breaks connections off (connection)"
	case c.Status == 0:
		return "gives no answer (" + c.Reason + ")"
	case c.Status/100 == 2:
		return "gives no whole answer (" + c.Reason + ")"
	}
	return "answers " + c.String()
}

// add takes in what another worker, or another call, met.
func (f *Failing) add(o Failing) {
	if f.Since.IsZero() || o.Since.Before(f.Since) {
		f.Since = o.Since
	}
	f.Failed, f.Of = f.Failed+o.Failed, f.Of+o.Of
	for _, c := range o.Causes {
		i := slices.IndexFunc(f.Causes, func(x FailCause) bool { return x.Status == c.Status && x.Reason == c.Reason })
		if i < 0 {
			f.Causes = append(f.Causes, c)
			continue
		}
		f.Causes[i].Calls += c.Calls
	}
	slices.SortFunc(f.Causes, func(a, b FailCause) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Reason, b.Reason))
	})
}

// ProviderFails adds up what the workers of a fleet that serve a lane meet; nil
// while none says that the provider fails.
func ProviderFails(fleet []WorkerInfo, lane string) *Failing {
	var all *Failing
	for _, w := range fleet {
		l, ok := w.Serves(lane)
		if !ok || l.Failing == nil {
			continue
		}
		if all == nil {
			all = &Failing{}
		}
		all.add(*l.Failing)
	}
	return all
}

// lastCalls are the last calls of a lane in this process: what the fleet is told.
type lastCalls struct {
	mu      sync.Mutex
	calls   []lastCall // oldest first
	good    int        // in a row
	failing bool
	since   time.Time // when failing began
}

type lastCall struct {
	at     time.Time
	failed FailCause // without a reason: it did not
}

// met notes what a call came to; the zero cause is a good answer.
func (l *lastCalls) met(c FailCause, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	l.calls = append(l.calls, lastCall{now, c})
	l.calls = l.calls[max(0, len(l.calls)-failingOf):]
	if c.Reason != "" {
		l.good = 0
		if f := l.sum(); !l.failing && f.Failed >= failingLeast && 2*f.Failed >= f.Of {
			l.failing, l.since = true, f.Since
		}
		return
	}
	if l.good++; l.failing && l.good >= failingGood {
		l.failing, l.calls = false, nil
	}
}

// forget drops calls that say nothing of now.
func (l *lastCalls) forget(now time.Time) {
	l.calls = slices.DeleteFunc(l.calls, func(c lastCall) bool { return now.Sub(c.at) > failingKept })
	if l.sum().Failed == 0 {
		l.failing = false
	}
}

func (l *lastCalls) sum() (f Failing) {
	f.Of = len(l.calls)
	for _, c := range l.calls {
		if c.failed.Reason != "" {
			c.failed.Calls = 1
			f.add(Failing{Since: c.at, Failed: 1, Causes: []FailCause{c.failed}})
		}
	}
	return f
}

// trouble is what the fleet is told; nil while the provider does not fail. Since
// is the beginning: that calls of then are forgotten does not move it.
func (l *lastCalls) trouble(now time.Time) *Failing {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(now)
	if !l.failing {
		return nil
	}
	f := l.sum()
	f.Since = l.since
	return &f
}
