package dashboard

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"

	"nightshift/limiter"
)

//go:embed pages/*.html
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"amount": amount, "percent": limiter.Percent, "clock": clock, "ago": ago, "short": shortDuration, "level": levelOf,
	"bar": newBar, "runbar": runBar, "phase": phaseWords, "asset": assetPath, "less": func(a, b int) int { return a - b }, "rfc3339": rfc3339, "last": lastEntry,
}).ParseFS(pageFiles, "pages/*.html"))

// showPage writes a page in its frame; to htmx, the content of the frame alone.
func (d *Dashboard) showPage(w http.ResponseWriter, r *http.Request, status int, name string, s *shown) {
	var b bytes.Buffer
	if s.Error != "" {
		name = "failed"
	}
	if err := pages.ExecuteTemplate(&b, name, s); err != nil {
		d.unmade(w, name, err)
		return
	}
	s.Main = template.HTML(b.String()) //nolint:gosec // made by a template of ours just now
	w.Header().Set("Vary", "HX-Request")
	if r.Header.Get("HX-Request") == "true" {
		d.render(w, status, "live", s)
		return
	}
	s.Said = takeSaid(w, r)
	d.render(w, status, "layout", s)
}

// render writes a page, or says that it could not: never half of one.
func (d *Dashboard) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		d.unmade(w, name, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (d *Dashboard) unmade(w http.ResponseWriter, name string, err error) {
	d.cfg.Logger.Error("dashboard: page", "page", name, "err", err)
	http.Error(w, "This page could not be made; the log says why.", http.StatusInternalServerError)
}
