package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// AuditEntry is what somebody did, or was refused.
type AuditEntry struct {
	At     time.Time // when it was kept
	Who    string    // "ana (dashboard)", "ada@host"
	Role   Role      // "" where that is not known
	From   string    // the address that it came from
	What   string    // the action: "pause"
	Target string    // "class bulk"
	Before string
	After  string
	Result string // ResultDone, ResultRefused, ResultFailed
	Text   string // one sentence
}

// The results of what somebody tried.
const (
	ResultDone    = "done"
	ResultRefused = "refused" // by a rule of this dashboard
	ResultFailed  = "failed"
)

// AuditQuery is what of the log is asked for; zero fields are no condition.
type AuditQuery struct {
	Who, What, Result string
	Text              string    // that any field contains
	Before            time.Time // older than this: the next page
	Limit             int
}

// AuditView is a page of the log.
type AuditView struct {
	Entries []AuditEntry // the latest first
	More    bool         // there are older ones
	Whats   []string     // the actions that there are, to filter by
}

// Results are those to filter by.
func (s *shown) Results() []string { return []string{ResultDone, ResultRefused, ResultFailed} }

func lastEntry(list []AuditEntry) *AuditEntry {
	if len(list) == 0 {
		return nil
	}
	return &list[len(list)-1]
}

const auditRows = 50

func (d *Dashboard) auditPage() page {
	p := page{path: "/audit", nav: "Audit", title: "audit", template: "audit"}
	if d.cfg.Audit == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		q := r.URL.Query()
		ask := AuditQuery{Who: q.Get("who"), What: q.Get("what"), Result: q.Get("result"), Text: q.Get("q"), Limit: auditRows}
		if at := q.Get("before"); at != "" {
			t, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				return nil, badQuery("before is %.40q: want a moment as in the page's own links", at)
			}
			ask.Before = t
		}
		return d.cfg.Audit(ctx, ask)
	}
	return p
}

// record keeps what was done or refused. What is done is done: a record that could
// not be kept is in the log of this process only.
func (d *Dashboard) record(r *http.Request, e AuditEntry) {
	v := viewerOf(r.Context())
	e.Who, e.Role, e.From = v.By(), v.Role, v.From
	level := slog.LevelInfo
	if e.Result == ResultFailed {
		level = slog.LevelWarn
	}
	d.cfg.Logger.Log(r.Context(), level, "dashboard: "+e.Result, "what", e.What, "target", e.Target, "by", e.Who, "from", e.From,
		"before", e.Before, "after", e.After, "text", e.Text)
	if d.cfg.Record != nil {
		d.keep(r, e)
	}
}

// keep writes the audit log.
func (d *Dashboard) keep(r *http.Request, e AuditEntry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), d.cfg.Patience)
	defer cancel()
	if err := d.cfg.Record(ctx, e); err != nil {
		d.cfg.Logger.Error("dashboard: the audit log was not written", "what", e.What, "by", e.Who, "err", err)
	}
}
