package dashboard

import (
	"cmp"
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
	a, ok := parseAction(r.Method, api)
	switch reason := a.refusal(); {
	case !ok:
		refuse(w, r, http.StatusNotFound, "there is no such call")
	case !d.cfg.Write:
		refuse(w, r, http.StatusMethodNotAllowed, "This dashboard is read-only. Start it with --write to pause queues here, or type: nightshift pause "+cmp.Or(a.Queue, "QUEUE"))
	case reason != "":
		d.cfg.Logger.Info("dashboard: refused", "what", a.Verb, "queue", a.Queue, "task", a.Task, "by", d.who(r))
		refuse(w, r, http.StatusForbidden, reason)
	case a.List == "":
		d.steer(w, r, a)
	default:
		d.cfg.Logger.Info("dashboard: done", "what", a.Verb, "queue", a.Queue, "list", a.List, "task", a.Task, "by", d.who(r))
		d.serveAPI(w, r)
	}
}

// steer pauses or resumes a queue by the scheduler's reasons. asynqmon's own
// call would fail on a key of ours, and our key's expiry would resume what an
// operator wanted paused.
func (d *Dashboard) steer(w http.ResponseWriter, r *http.Request, a action) {
	if d.cfg.Pauser == nil {
		refuse(w, r, http.StatusNotImplemented, fmt.Sprintf("This dashboard cannot do that. Type: nightshift %s %s", a.Verb, a.Queue))
		return
	}
	do := d.cfg.Pauser.PauseQueue
	if a.Verb == "resume" {
		do = d.cfg.Pauser.ResumeQueue
	}
	if err := do(r.Context(), a.Queue, d.who(r)); err != nil {
		d.cfg.Logger.Warn("dashboard: not done", "what", a.Verb, "queue", a.Queue, "by", d.who(r), "err", err)
		refuse(w, r, http.StatusConflict, withHint(err))
		return
	}
	d.cfg.Logger.Info("dashboard: done", "what", a.Verb, "queue", a.Queue, "by", d.who(r))
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

// byDashboard is who an operator without a name is. ("asynqmon" is taken: the
// scheduler calls so who wrote asynq's own pause key.)
const byDashboard = "dashboard"

// who names whoever asks, for the record of a pause: the user of basic auth if
// there is one.
func (d *Dashboard) who(r *http.Request) string {
	if user, _, ok := r.BasicAuth(); ok && user != "" && d.cfg.Token != "" {
		return cut(oneLine(user), 60) + " (" + byDashboard + ")"
	}
	return byDashboard
}
