package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// serveQueues stands before asynqmon: what it may not do is refused, what it
// cannot do is done here, and its page gets the banner.
func (d *Dashboard) serveQueues(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, d.cfg.Prefix)
	api, isAPI := strings.CutPrefix(path, "/api/")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case !reads:
		d.act(w, r, api)
	case isAPI && api == "metrics":
		d.serveMetrics(w, r)
	case isAPI:
		d.serveAPI(w, r)
	case isAsset(path):
		w.Header().Set("Cache-Control", "private, max-age=86400")
		d.mon.ServeHTTP(w, r)
	default:
		d.serveIndex(w, r)
	}
}

// isAsset knows asynqmon's files by their place and ending; a queue's page may
// have a dot in its name.
func isAsset(path string) bool {
	if strings.HasPrefix(path, "/static/") {
		return true
	}
	name := strings.TrimPrefix(path, "/")
	if strings.Contains(name, "/") {
		return false
	}
	for _, end := range []string{".png", ".ico", ".json", ".txt"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// act takes a call that changes something, or says why not.
func (d *Dashboard) act(w http.ResponseWriter, r *http.Request, api string) {
	a, ok := parseQueueCall(r.Method, api)
	reason, status := a.refusal(), http.StatusForbidden
	switch {
	case !ok:
		refuse(w, r, http.StatusNotFound, "there is no such call")
		return
	case !d.cfg.Write:
		status, reason = http.StatusMethodNotAllowed, "This dashboard is read-only. Start it with --write to pause queues here, or type: nightshift pause "+cmp.Or(a.Queue, "QUEUE")
	case !d.mayAct(r.Context()):
		reason = "You may only look: log in with the operators' token to do this."
	}
	switch {
	case reason != "":
		d.record(r, AuditEntry{What: a.what(), Target: a.target(), Result: ResultRefused, Text: reason})
		refuse(w, r, status, reason)
	case a.List == "":
		d.steer(w, r, a)
	default:
		d.single(w, r, a)
	}
}

// single lets asynqmon do something with one task.
func (d *Dashboard) single(w http.ResponseWriter, r *http.Request, a queueCall) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	_, _ = d.perform(r, a.what(), a.target(), func(context.Context) (Outcome, error) {
		d.serveAPI(rec, r)
		if rec.status >= http.StatusBadRequest {
			return Outcome{}, errors.New(strings.TrimSpace(rec.body.String()))
		}
		return Outcome{}, nil
	})
	rec.replay(w)
}

// steer pauses or resumes a queue by the scheduler's reasons. asynqmon's own
// call would fail on a key of ours, and our key's expiry would resume what an
// operator wanted paused.
func (d *Dashboard) steer(w http.ResponseWriter, r *http.Request, a queueCall) {
	if d.cfg.Pauser == nil {
		refuse(w, r, http.StatusNotImplemented, fmt.Sprintf("This dashboard cannot do that. Type: nightshift %s %s", a.Verb, a.Queue))
		return
	}
	do := d.cfg.Pauser.PauseQueue
	if a.Verb == "resume" {
		do = d.cfg.Pauser.ResumeQueue
	}
	_, err := d.perform(r, a.what(), a.target(), func(ctx context.Context) (Outcome, error) {
		return Outcome{}, do(ctx, a.Queue, viewerOf(ctx).By())
	})
	if err != nil {
		refuse(w, r, http.StatusConflict, withHint(err))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// withHint is an error's text and what to type instead, if the error knows.
func withHint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return err.Error() + ". Type: " + h.Hint()
	}
	return err.Error()
}
