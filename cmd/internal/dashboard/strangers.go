package dashboard

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// mostStrangers is how many refusals of those who were not let in are kept in a minute:
// whoever guesses must not push what people did out of the log.
const mostStrangers = 20

// nobody is who was refused before anybody knew who it is.
const nobody = "nobody (not logged in)"

// strangers counts them. The zero value works.
type strangers struct {
	mu    sync.Mutex
	since time.Time // the minute began; guarded by mu
	n     int       // kept or left out in it; guarded by mu
}

// keep says whether one more is kept, and how many were left out in the minute before.
func (s *strangers) keep(now time.Time) (ok bool, before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.since).Abs() >= time.Minute {
		before = max(0, s.n-mostStrangers)
		s.since, s.n = now, 0
	}
	s.n++
	return s.n <= mostStrangers, before
}

// recordStranger keeps the refusal of somebody who was not let in.
func (d *Dashboard) recordStranger(r *http.Request, e AuditEntry) {
	ok, before := d.strangers.keep(d.cfg.Now())
	if !ok || d.cfg.Record == nil {
		return
	}
	if before > 0 {
		e.Text += fmt.Sprintf(" (%d more were refused in a minute before and are not listed.)", before)
	}
	e.Who, e.From, e.Result = nobody, addressOf(r), ResultRefused
	d.keep(r, e)
}
