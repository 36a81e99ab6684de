package dashboard

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Who guesses is slowed: the answer to a wrong token is held back, ever longer
// with the failures of its address. The right token is never kept waiting, so that
// nobody can lock others out, whoever shares an address with them.
const (
	freeFailures   = 3               // of an address in failuresLast, answered at once: people mistype
	firstDelay     = time.Second / 2 // doubled with each failure more
	longestDelay   = 8 * time.Second
	failuresLast   = 10 * time.Minute // after the last one an address begins anew
	mostAddresses  = 4096             // that are remembered
	mostHeldBack   = 64               // answers at a time; more are refused at once
	wrongLogsEvery = 10               // of the failures of an address that one line tells
)

// failures counts the wrong tokens of each address.
type failures struct {
	mu   sync.Mutex
	of   map[netip.Addr]*failed // guarded by mu
	held int                    // answers that wait; guarded by mu
}

type failed struct {
	n    int
	last time.Time
}

// add counts one more, and gives how long its answer waits and how many there were.
func (f *failures) add(from string, now time.Time) (time.Duration, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := addressKey(from)
	x := f.of[key]
	if x == nil || now.Sub(x.last) > failuresLast {
		f.makeRoom(now)
		x = &failed{}
		f.of[key] = x
	}
	x.n, x.last = x.n+1, now
	if x.n <= freeFailures {
		return 0, x.n
	}
	return min(longestDelay, firstDelay<<min(x.n-freeFailures-1, 10)), x.n
}

// makeRoom forgets what is over; when all is recent, everybody begins anew.
func (f *failures) makeRoom(now time.Time) {
	if f.of == nil {
		f.of = map[netip.Addr]*failed{}
	}
	if len(f.of) < mostAddresses {
		return
	}
	for a, x := range f.of {
		if now.Sub(x.last) > failuresLast {
			delete(f.of, a)
		}
	}
	if len(f.of) >= mostAddresses {
		clear(f.of)
	}
}

// enter takes a place among the answers that wait; leave gives it back.
func (f *failures) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held >= mostHeldBack {
		return false
	}
	f.held++
	return true
}

func (f *failures) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held--
}

// addressKey takes an IPv6 network for one address: whoever has one has all of it.
func addressKey(from string) netip.Addr {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Addr{}
	}
	if a = a.Unmap().WithZone(""); a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// wrongToken lets a wrong token wait for its answer.
func (d *Dashboard) wrongToken(w http.ResponseWriter, r *http.Request, answer func()) {
	delay, n := d.failures.add(addressOf(r), d.cfg.Now())
	d.recordStranger(r, AuditEntry{What: "login", Target: cut(r.URL.Path, 100), Text: "A wrong token was given."})
	if n <= freeFailures || n%wrongLogsEvery == 0 {
		d.cfg.Logger.Warn("dashboard: wrong token", "from", addressOf(r), "failures", n)
	}
	if delay == 0 {
		answer()
		return
	}
	if !d.failures.enter() {
		w.Header().Set("Retry-After", "10")
		refuse(w, r, http.StatusTooManyRequests, "Too many wrong tokens just now. Try again in ten seconds.")
		return
	}
	defer d.failures.leave()
	select {
	case <-r.Context().Done():
	case <-time.After(delay):
		answer()
	}
}
