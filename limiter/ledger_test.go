package limiter

import (
	"time"
)

// book is a ledger as an outsider keeps it, entry by entry: it shares no code with
// the limiter. Of a limit it knows only what was admitted while there was one.
type book struct {
	node   string // "" is the lane
	closed bool   // it has no limits now
	pages  map[string]*page
}

type page struct {
	Limit
	entries []*entry
}

// entry is what one call was charged, and, held, until when.
type entry struct {
	call   *bookedCall
	at     int64 // ms; of what counted when the clock was set back, the moment after that
	amount int64
}

// bookedCall is a call as its holder sees it.
type bookedCall struct {
	id        string
	ends      int64 // of the lease
	lapsed    int64 // when the lease was found to have ended; 0 before
	ended     bool  // settled or released
	forgotten bool  // too late to be settled
	entries   []*entryOf
}

type entryOf struct {
	*entry
	page *page
}

var californian = func() *time.Location {
	l, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err)
	}
	return l
}()

// counts tells whether an entry is in the window that ends now, as the limiter
// counts: a slot of 0.5 s until 61 s after its begin, one of 5 s until 610 s.
func (p *page) counts(e *entry, now int64) bool {
	t := time.UnixMilli(now).In(californian)
	switch p.Window {
	case Minute:
		return e.at/500 > now/500-122
	case TenMinutes:
		return e.at/5000 > now/5000-122
	case Day:
		return e.at >= time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, californian).UnixMilli()
	case Month:
		return e.at >= time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, californian).UnixMilli()
	case Ever:
		return true
	}
	return !e.call.ended && e.call.lapsed == 0
}

func (p *page) used(now int64) (sum int64) {
	for _, e := range p.entries {
		if p.counts(e, now) {
			sum += e.amount
		}
	}
	return sum
}

// window is the most that any true window which ends now may hold: exactly the
// last minute, or ten.
func (p *page) window(now int64) (sum int64) {
	length := map[Window]int64{Minute: 60_000, TenMinutes: 600_000}[p.Window]
	if length == 0 {
		return p.used(now)
	}
	for _, e := range p.entries {
		if e.at > now-length {
			sum += e.amount
		}
	}
	return sum
}

// configure follows a change of limits: what a limit counted stays while there is
// one, and while the whole ledger has none.
func (b *book) configure(l Limits) {
	list := l.List()
	if b.closed = len(list) == 0; b.closed {
		return
	}
	before := b.pages
	b.pages = map[string]*page{}
	for _, x := range list {
		p := before[x.Name()]
		if p == nil {
			p = &page{}
		}
		p.Limit = x
		b.pages[x.Name()] = p
	}
}

// admit writes a call down in every limit that it takes something of.
func (b *book) admit(c *bookedCall, a Amounts, now int64) {
	if b.closed {
		return
	}
	for _, p := range b.pages {
		if n := a[p.Unit]; n > 0 {
			e := &entry{call: c, at: now, amount: n}
			p.entries = append(p.entries, e)
			c.entries = append(c.entries, &entryOf{e, p})
		}
	}
}

// settle corrects what still counts.
func (c *bookedCall) settle(used Amounts, now int64) {
	for _, e := range c.entries {
		if e.page.Window != Held && e.page.counts(e.entry, now) {
			e.amount = used[e.page.Unit]
		}
	}
}

// setBack follows a clock that was set back from last to now: what counted counts
// as of now.
func (b *book) setBack(last, now int64) {
	for _, p := range b.pages {
		if p.Window != Minute && p.Window != TenMinutes {
			continue
		}
		for _, e := range p.entries {
			if p.counts(e, last) {
				e.at = now
			} else {
				e.at = 0
			}
		}
	}
}
