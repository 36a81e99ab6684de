package dashboard

import (
	"bytes"
	"net/http"
	"strings"
)

// serveAPI asks asynqmon, whose every error is a 500 with the error's text.
func (d *Dashboard) serveAPI(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	mon := d.mon
	if d.contentsFor(viewerOf(r.Context())) == Plain {
		mon = d.plainMon
	}
	mon.ServeHTTP(rec, r)
	switch {
	case rec.status == http.StatusNotFound || rec.status >= http.StatusInternalServerError:
		text := strings.TrimSpace(rec.body.String())
		status, reason := explainError(text)
		if status >= http.StatusInternalServerError {
			d.cfg.Logger.Warn("dashboard: asynqmon failed", "path", r.URL.Path, "err", text)
		}
		refuse(w, r, status, reason)
	case rec.status == http.StatusOK && strings.HasPrefix(rec.body.String(), "<!doctype html"):
		// What is not in asynqmon's router gets its page.
		refuse(w, r, http.StatusNotFound, "there is no such call")
	default:
		if rec.status == http.StatusOK {
			rec.header.Set("Content-Type", "application/json; charset=utf-8")
			rec.body = *bytes.NewBuffer(d.format.withAttempts(r.Context(), rec.body.Bytes()))
		}
		rec.replay(w)
	}
}

// explainError says what an error of asynqmon's means and what mends it.
func explainError(text string) (status int, reason string) {
	s := strings.ToLower(text)
	switch {
	case strings.Contains(s, "queue not found"), strings.Contains(s, "not_found: queue"):
		return http.StatusNotFound, "There is no such queue (any more)."
	case strings.Contains(s, "task not found"), strings.Contains(s, "not_found: cannot find task"):
		return http.StatusNotFound, "There is no such task (any more): its row has ended, or it runs under a new number. See: nightshift why ROW"
	case strings.Contains(s, "noperm"):
		return http.StatusBadGateway, "The Redis user of this dashboard may not do that: " + text + ". Let it use @read, @write and @scripting on asynq:* and nightshift:*"
	case strings.Contains(s, "connection refused"), strings.Contains(s, "i/o timeout"), strings.Contains(s, "loading"), strings.Contains(s, "eof"):
		return http.StatusServiceUnavailable, "Redis does not answer: " + text + ". See: nightshift doctor"
	}
	return http.StatusInternalServerError, text
}
