package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"nightshift/cmd/internal/tenants"
)

// TenantsQuery is what of the tenants is asked for.
type TenantsQuery struct {
	Text string // that a name or a note must contain
	Sort string // of TenantSorts
	Page int    // from 1 on
}

// TenantSorts are the orders of the list.
var TenantSorts = []ChoiceView{{tenants.ByName, "name"}, {tenants.BySpend, "spent today"}}

// TenantsOnPage is how many tenants a page of the list has.
const TenantsOnPage = 25

// TenantsView is a page of the tenants.
type TenantsView struct {
	At         time.Time // of the figures
	Tenants    []TenantRow
	Found, All int
}

// TenantRow is a tenant in the list.
type TenantRow struct {
	Name, Note  string
	Level       Level
	Stopped     bool
	Teams, Keys int
	Limits      string // that hold, in short
	Calls       int64  // today
	Tokens      int64
	Refused     int64 // by us, for want of room or time; the provider's 429s are the tenant's page's to tell
	OwnLimit    int64 // by us: by a limit of its own
	Spent, Cap  int64 // micro-dollars of today
}

// Limit is the daily cap for a bar.
func (t TenantRow) Limit() LimitView {
	return LimitView{Set: t.Cap, Effective: t.Cap, Used: t.Spent, Micro: true}
}

// TenantQuery asks for one tenant.
type TenantQuery struct {
	Name string
	Own  bool   // the tenant itself asks: it is told nothing of others, nor who did what
	By   string // of TenantBys
	Days string // of TenantSpans
}

// TenantBys are by what a tenant's use is told apart, TenantSpans how far back.
var (
	TenantBys   = []ChoiceView{{"feature", "features"}, {"model", "models"}, {"team", "teams"}, {"key", "keys"}}
	TenantSpans = []ChoiceView{{"1", "24 h"}, {"7", "7 days"}, {"30", "30 days"}}
)

// TenantView is one tenant.
type TenantView struct {
	At       time.Time
	Asked    TenantQuery
	Name     string
	Note     string
	Level    Level
	Stopped  string   // since when and by whom it is held to one call a minute; "" is not
	Path     PathView // its limits
	Facts    [][2]string
	Teams    []TenantTeam
	Keys     []TenantKey
	KeysMore int // beyond those
	Waits    []WaitView
	Runs     []RunView
	Use      ChartView
	Sums     []TenantUse // the largest first
	SumsMore int
	Total    TenantUse
	Forecast *ForecastView
	CSV      string // where the figures of the chart are
	Command  string
}

// TenantTeam is a team in it.
type TenantTeam struct {
	Name, Note, Limits string
	Keys               int
	Stopped            bool
}

// TenantKey is one of its keys.
type TenantKey struct {
	ID, Name, Team, Class, For, Limits, State string
	Level                                     Level
	Stopped, Holds                            bool
}

// TenantUse is what somebody of it used.
type TenantUse struct {
	Name                  string
	Calls, Input, Output  int64
	Refused, Provider     int64
	OwnLimit              int64
	Cost, Requests, Share string
}

// Sorts, Bys and Spans are the choices of the pages.
func (s *shown) Sorts() []ChoiceView { return TenantSorts }

// Bys are by what use may be told apart.
func (s *shown) Bys() []ChoiceView { return TenantBys }

// Spans are how far back.
func (s *shown) Spans() []ChoiceView { return TenantSpans }

// Own says that a tenant looks at itself.
func (s *shown) Own() bool { return s.Viewer.Tenant != "" }

// TenantPath is where a tenant's page is.
func (s *shown) TenantPath(name string) string { return "/tenants/" + url.PathEscape(name) }

func (d *Dashboard) tenantsPage() page {
	p := page{path: "/tenants", nav: "Tenants", title: "tenants", template: "tenants"}
	if d.cfg.Tenants == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		q := r.URL.Query()
		ask := TenantsQuery{Text: cut(oneLine(q.Get("q")), longestQuery), Sort: q.Get("sort")}
		var err error
		if ask.Page, err = pageNumber(q, "page"); err != nil {
			return nil, err
		}
		if ask.Sort != "" && !isChoice(TenantSorts, ask.Sort) {
			return nil, badQuery("sort is %.40q: want name or spend", ask.Sort)
		}
		return d.cfg.Tenants(ctx, ask)
	}
	return p
}

func (d *Dashboard) tenantPage() page {
	p := page{path: "/tenants/{tenant}", title: "tenant", template: "tenant", under: "Tenants", charts: true}
	if d.cfg.Tenant == nil {
		return p
	}
	p.load = func(ctx context.Context, r *http.Request) (any, error) {
		ask, err := tenantQuery(r.URL.Query())
		if err != nil {
			return nil, err
		}
		ask.Name = r.PathValue("tenant")
		if v := viewerOf(ctx); v.Tenant != "" {
			ask.Name, ask.Own = v.Tenant, true
		}
		return d.cfg.Tenant(ctx, ask)
	}
	return p
}

func tenantQuery(q url.Values) (ask TenantQuery, err error) {
	ask.By, ask.Days = "feature", "7"
	if by := q.Get("by"); by != "" {
		ask.By = by
	}
	if days := q.Get("days"); days != "" {
		ask.Days = days
	}
	switch {
	case !isChoice(TenantBys, ask.By):
		return ask, badQuery("by is %.40q: want feature, model, team or key", ask.By)
	case !isChoice(TenantSpans, ask.Days):
		return ask, badQuery("days is %.40q: want 1, 7 or 30", ask.Days)
	}
	return ask, nil
}

// theirs is all that there is for somebody who looks at one tenant: its page, and the
// API, which knows the same rule. Whatever else is asked for is not there.
func (d *Dashboard) theirs() http.Handler {
	mux := http.NewServeMux()
	if own := d.tenantPage(); own.load != nil {
		own.title, own.role = "your use", RoleTenant
		mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { d.servePage(w, r, own) })
	}
	if d.cfg.API != nil {
		mux.Handle(tenants.Prefix, d.cfg.API)
	}
	mux.HandleFunc("/", d.serveMissing)
	return mux
}
