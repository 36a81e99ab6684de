package dashboard

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// page is one of our pages. Each stands in a file of its own, with a template in
// pages/ that defines its name: the content of <main>, to which a *shown is given.
type page struct {
	path     string // as http.ServeMux has it, without the method: "/", "/runs/{run}"
	nav      string // its word in the navigation; "" is not there
	title    string // of the window
	role     Role   // who may see it; "" is everybody
	template string // the name that is defined in pages/*.html
	// live pages refresh themselves when something has changed. Their load is
	// shared between those who look at the same address within a second, so it
	// must not depend on who looks.
	live   bool
	charts bool   // it has some
	under  string // the word in the navigation that it belongs to, where it has none
	// load reads what the page shows. The page's state is in the request's query.
	load func(ctx context.Context, r *http.Request) (any, error)
}

// pageTable lists the pages in the order of the navigation. What this dashboard
// has no source for is left out.
func (d *Dashboard) pageTable() []page {
	var out []page
	for _, p := range []page{
		d.nowPage(),
		d.historyPage(),
		d.whoPage(),
		d.runsPage(),
		d.runPage(),
		d.tenantsPage(),
		d.tenantPage(),
		d.steerPage(),
		d.auditPage(),
	} {
		if p.load != nil {
			out = append(out, p)
		}
	}
	return out
}

// Errors that a load gives for what was asked for. Others mean that it could not
// be read.
var (
	ErrNotThere = errors.New("there is no such thing") // 404
	ErrBadQuery = errors.New("this address is not one of ours")
)

// shown is what a page's template gets.
type shown struct {
	Page   string    // the path of the page, for links to itself
	Title  string    //
	Nav    []navItem //
	Query  url.Values
	Now    time.Time
	Viewer Viewer
	May    bool   // act
	Login  bool   // there is one, so there is a way out
	Live   bool   // refreshes itself
	CanRun bool   // it is one that could
	Charts bool   // has some
	Said   said   // what came of the last action
	Error  string // why there is no Data
	Data   any    // of load
	Main   template.HTML

	contents Contents // that who looks may see
}

type navItem struct {
	Name, Path string
	Here       bool
}

// Self is the page's own address, with its state.
func (s *shown) Self() string { return s.With() }

// With is the page's own address with some of its state changed, by turns of name
// and value; "" takes a parameter out. Another filter begins its lists anew.
func (s *shown) With(pairs ...any) string {
	q := url.Values{}
	for name, values := range s.Query {
		if len(values) > 0 && values[0] != "" {
			q.Set(name, values[0])
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := text(pairs[i]), text(pairs[i+1])
		if !isPaging(name) && name != "live" {
			maps.DeleteFunc(q, func(k string, _ []string) bool { return isPaging(k) })
		}
		if q.Set(name, value); value == "" {
			q.Del(name)
		}
	}
	if len(q) == 0 {
		return s.Page
	}
	return s.Page + "?" + q.Encode()
}

// isPaging tells the parameters that say which part of a list is shown.
func isPaging(name string) bool { return strings.HasPrefix(name, "page") || name == "before" }

// Asked is a parameter of the page's address.
func (s *shown) Asked(name string) string { return s.Query.Get(name) }

func (d *Dashboard) routePages(mux *http.ServeMux) {
	for _, p := range d.pages {
		path := p.path
		if path == "/" {
			path = "/{$}"
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { d.servePage(w, r, p) })
	}
	mux.HandleFunc("GET /history.csv", d.serveHistoryCSV)
	mux.HandleFunc("/", d.serveMissing)
}

func (d *Dashboard) servePage(w http.ResponseWriter, r *http.Request, p page) {
	s := d.shownTo(r)
	s.Title, s.CanRun, s.Charts = p.title, p.live, p.charts
	s.Live = p.live && s.Asked("live") != "off"
	for i := range s.Nav {
		s.Nav[i].Here = s.Nav[i].Name == cmp.Or(p.nav, p.under)
	}
	if !s.Viewer.Role.may(p.role) {
		s.Error = "This page is for those who log in with the operators' token."
		d.showPage(w, r, http.StatusForbidden, p.template, s)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.cfg.Patience)
	defer cancel()
	data, err := d.loadPage(ctx, r, p)
	s.Data = data
	status := d.explainLoad(r, s, err)
	if q, ok := data.(questioned); ok && err == nil && q.wrong() != "" {
		status = http.StatusBadRequest
	}
	d.showPage(w, r, status, p.template, s)
}

// questioned is what a page shows that answers a question of the address. With what is
// wrong with that it has its form yet, to ask again.
type questioned interface{ wrong() string }

// loadPage reads what a page shows; of a live one once for all who look at it.
func (d *Dashboard) loadPage(ctx context.Context, r *http.Request, p page) (any, error) {
	if !p.live {
		return p.load(ctx, r)
	}
	return d.loads.get(ctx, r.URL.RequestURI(), d.cfg.Now(), func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, d.cfg.Patience)
		defer cancel()
		return p.load(ctx, r)
	})
}

// explainLoad says what an error means for who looks.
func (d *Dashboard) explainLoad(r *http.Request, s *shown, err error) (status int) {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrNotThere):
		s.Error = err.Error()
		return http.StatusNotFound
	case errors.Is(err, ErrBadQuery):
		s.Error = err.Error()
		return http.StatusBadRequest
	}
	d.cfg.Logger.Warn("dashboard: page cannot be read", "page", r.URL.Path, "err", err)
	s.Error = "This cannot be read now: " + withHint(d.plain(err))
	return http.StatusServiceUnavailable
}

// shownTo is what all pages show.
func (d *Dashboard) shownTo(r *http.Request) *shown {
	v := viewerOf(r.Context())
	s := &shown{
		Page: r.URL.EscapedPath(), Query: r.URL.Query(), Now: d.cfg.Now(), Viewer: v, Login: d.cfg.Token != "",
		May: d.mayAct(r.Context()), contents: d.contentsFor(v),
	}
	if v.Tenant != "" {
		s.Nav = []navItem{{Name: v.Tenant, Path: "/"}}
		return s
	}
	for _, p := range d.pages {
		if p.nav != "" && v.Role.may(p.role) {
			s.Nav = append(s.Nav, navItem{Name: p.nav, Path: p.path})
		}
	}
	s.Nav = append(s.Nav, navItem{Name: "Queues", Path: d.cfg.Prefix + "/"})
	return s
}

func (d *Dashboard) serveMissing(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, r, http.StatusMethodNotAllowed, "nothing here takes that")
		return
	}
	s := d.shownTo(r)
	s.Title = "no such page"
	d.showPage(w, r, http.StatusNotFound, "missing", s)
}
