package dashboard

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"
	"time"
)

//go:embed assets
var assetFiles embed.FS

//go:embed pages/*.html
var pageFiles embed.FS

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"amount": amount, "percent": percent, "clock": clock, "ago": ago, "short": shortDuration, "bar": newBar, "level": levelOf, "runbar": runBar, "phase": phaseWords,
}).ParseFS(pageFiles, "pages/*.html"))

func assetHandler() http.Handler {
	files := http.FileServerFS(assetFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=300")
		files.ServeHTTP(w, r)
	})
}

// homePage is what the template sees.
type homePage struct {
	Overview
	Queues string // where asynqmon is
	Write  bool
	Login  bool // there is one, so there is a way out
	Error  string
	Now    time.Time
	Known  bool // there is an overview
}

// serveHome is the page for a first look: what is closed, what runs, what to
// do. It needs no JavaScript; with it, it refreshes itself in place.
func (d *Dashboard) serveHome(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		d.render(w, http.StatusNotFound, "missing.html", d.cfg.Prefix)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, r, http.StatusMethodNotAllowed, "this page is read only")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	p := homePage{Queues: d.cfg.Prefix + "/", Write: d.cfg.Write, Login: d.cfg.Token != "", Now: d.cfg.Now()}
	p.Overview, p.Error = d.overview(ctx)
	p.Known = d.cfg.Overview != nil && p.Error == ""
	if p.At.IsZero() {
		p.At = p.Now
	}
	d.render(w, http.StatusOK, "home.html", p)
}

func (d *Dashboard) overview(ctx context.Context) (Overview, string) {
	if d.cfg.Overview == nil {
		return d.pausesOnly(ctx)
	}
	o, err := d.cfg.Overview(ctx)
	if err != nil {
		d.cfg.Logger.Warn("dashboard: overview", "err", err)
		return Overview{}, "The state of the fleet cannot be read now: " + err.Error()
	}
	return o, ""
}

func (d *Dashboard) pausesOnly(ctx context.Context) (Overview, string) {
	if d.cfg.Pauses == nil {
		return Overview{}, ""
	}
	pauses, err := d.cfg.Pauses(ctx)
	if err != nil {
		return Overview{}, "Which pauses hold cannot be read now: " + err.Error()
	}
	return Overview{Pauses: pauses}, ""
}

// render writes a page, or says that it could not: never half of one.
func (d *Dashboard) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		d.cfg.Logger.Error("dashboard: page", "page", name, "err", err)
		http.Error(w, "This page could not be made; the log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
