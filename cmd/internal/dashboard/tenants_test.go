package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nightshift/cmd/internal/tenants"
)

// acmeToken is a token that looks at acme.
const acmeToken = tenants.TokenPrefix + "acmes-token-to-look-at-itself"

func acmesToken(_ context.Context, digest string) (string, string, error) {
	if digest == tenants.TokenDigest(acmeToken) {
		return "acme", "v_1", nil
	}
	return "", "", nil
}

// addTenantSources fills the pages of tenants, the first of which is named by a script.
func addTenantSources(s *Sources, now func() time.Time) {
	s.Tenants = func(_ context.Context, q TenantsQuery) (TenantsView, error) { return busyTenants(now(), q), nil }
	s.Tenant = func(_ context.Context, q TenantQuery) (TenantView, error) { return busyTenant(now(), q) }
}

func busyTenants(now time.Time, q TenantsQuery) TenantsView {
	v := TenantsView{At: now, Found: 60, All: 1000}
	if q.Text == "nobody" {
		return TenantsView{At: now, All: 1000}
	}
	v.Tenants = []TenantRow{{Name: "acme", Note: evil, Level: Bad, Stopped: true, Keys: 3, Teams: 2, Limits: "rpm 300, $25.00/day", Calls: 41_200, Tokens: 9_100_000, Refused: 12, Spent: 24_000_000, Cap: 25_000_000}}
	for i := range TenantsOnPage - 1 {
		v.Tenants = append(v.Tenants, TenantRow{Name: fmt.Sprintf("tenant-%02d", i), Keys: 1, Calls: int64(i * 100), Spent: int64(i) * 100_000})
	}
	return v
}

func busyTenant(now time.Time, q TenantQuery) (TenantView, error) {
	if q.Name != "acme" {
		return TenantView{}, fmt.Errorf("%w: no tenant of that name", ErrNotThere)
	}
	const n = 168
	v := TenantView{
		At: now, Asked: q, Name: "acme", Level: Bad, Stopped: "since 07:12", Path: PathView{Name: "tenant/acme", Limits: []LimitView{{Name: "rpm", Set: 300, Effective: 300, Used: 240, NextFree: "in 4 s"}, {Name: "usd_per_day", Set: 25e6, Effective: 25e6, Used: 24e6, Micro: true}}},
		Facts: [][2]string{{"weight", "3 among those who wait"}}, Teams: []TenantTeam{{Name: "web", Limits: "concurrency 4", Keys: 2}, {Name: evil, Stopped: true}},
		Keys:  []TenantKey{{ID: "k_0123456789ab", Name: evil, Team: "web", Class: "interactive", For: "chat", Limits: "rpm 60", State: "active", Holds: true}, {ID: "k_ba9876543210", Name: "old", Class: "bulk", State: "revoked 2026-11-01", Level: Note}},
		Waits: []WaitView{{Lane: "gemini-2.5-flash", Class: "bulk", Line: "run nightly", Waiting: 4000, For: "rpm of the model", Until: now.Add(time.Hour)}},
		Runs:  busy(now).Runs[:1], Sums: []TenantUse{{Name: "chat", Calls: 9000, Input: 1e6, Output: 2e5, Cost: "$3.10", Share: "61 %"}, {Name: evil, Calls: 4, Cost: "$0.01"}},
		Use:      ChartView{ID: "use", Title: "Requests by " + q.By, Of: "requests an hour", Measure: Count, Stack: true, Sum: true, From: now.Add(-n * time.Hour), Step: time.Hour, Lines: []LineView{{Name: "chat", Values: wave(n, 40, 0), Total: "9,000"}, {Name: evil, Values: wave(n, 9, 1), Total: "4"}}},
		Forecast: &ForecastView{Month: "2026-11", Spent: "$312.40", Today: "$12.10", Expected: "$340.00", Words: "Each day as the mean of the last 12 days."}, CSV: "/api/v1/tenants/acme/usage?format=csv", Command: "nightshift tenants usage acme",
	}
	if q.Own {
		v.Command = ""
	}
	return v, nil
}

// TestTenantLooksAtItself: with its token a tenant gets to its own page and its API; all
// else is not there, in the same words whatever it is, and nothing can be done.
func TestTenantLooksAtItself(t *testing.T) {
	t.Parallel()
	var asked []TenantQuery
	var api []Viewer
	cfg := Config{Redis: noRedis(t), Write: true, Token: testToken, Sources: fullSources(time.Now), Actions: operatorActions(), TenantOf: acmesToken}
	show := cfg.Tenant
	cfg.Tenant = func(ctx context.Context, q TenantQuery) (TenantView, error) {
		asked = append(asked, q)
		return show(ctx, q)
	}
	cfg.API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { api = append(api, ViewerOf(r.Context())) })
	d := newDashboard(t, cfg)
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	page := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
	w := ask(t, d, "GET", "/?by=key", bearer(acmeToken))
	want(t, w, http.StatusOK, "acme", "Requests by key", "read-only", "rpm of the model")
	wantNot(t, w, `href="/runs`, `href="/audit`, `href="/queues`, `action="/do/`, "nightshift keys add")
	if len(asked) != 1 || asked[0].Name != "acme" || !asked[0].Own {
		t.Errorf("asked for %+v", asked)
	}
	missing := ask(t, d, "GET", "/nothing", bearer(acmeToken), page)
	want(t, missing, http.StatusNotFound, "There is no such page.")
	body := func(w *httptest.ResponseRecorder, path string) string {
		return strings.NewReplacer(url.PathEscape(path), "PATH", path, "PATH").Replace(w.Body.String()[strings.Index(w.Body.String(), "<h1"):strings.Index(w.Body.String(), "As of")])
	}
	for _, path := range []string{"/tenants", "/tenants/acme", "/tenants/beta", "/tenants/none", "/runs", "/runs/nightly", "/history", "/history.csv", "/who", "/audit", "/steer", "/queues/", "/queues/api/queues", "/live", "/api/pauses", "/metrics"} {
		got := ask(t, d, "GET", path, bearer(acmeToken), page)
		if got.Code != http.StatusNotFound || body(got, path) != body(missing, "/nothing") {
			t.Errorf("%s: %d %.300s", path, got.Code, got.Body)
		}
	}
	for _, path := range []string{"/do/stop", "/do/pause", "/do/nothing", "/tenants/beta"} {
		if w := ask(t, d, "POST", path, bearer(acmeToken)); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Body.String(), "nothing here takes that") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	ask(t, d, "GET", "/api/v1/tenants/beta", bearer(acmeToken))
	if len(api) != 1 || api[0].Tenant != "acme" || api[0].Role != RoleTenant {
		t.Errorf("the API is asked by %+v", api)
	}
	for _, wrong := range []string{acmeToken + "x", tenants.TokenPrefix, testToken + "x"} {
		w := ask(t, d, "GET", "/api/v1/tenants", bearer(wrong))
		want(t, w, http.StatusUnauthorized, `"status":401`)
		if w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("an error of the API is %s", w.Header().Get("Content-Type"))
		}
	}
	if len(api) != 1 {
		t.Error("the API is asked by somebody with a wrong token")
	}
	// Where nobody else needs a token, whoever sends one gets what it stands for.
	cfg.Token = ""
	want(t, ask(t, newDashboard(t, cfg), "GET", "/tenants", bearer(acmeToken), page), http.StatusNotFound)
	want(t, ask(t, newDashboard(t, cfg), "GET", "/tenants", page), http.StatusOK, "60 of 1000")
}

// TestTenantLogsIn: a tenant's session ends with its token, and is nobody's to forge.
func TestTenantLogsIn(t *testing.T) {
	t.Parallel()
	ended, away := false, error(nil)
	cfg := Config{Redis: noRedis(t), Token: testToken, ViewToken: testViewToken, Sources: fullSources(time.Now)}
	cfg.TenantOf = func(ctx context.Context, digest string) (string, string, error) {
		if ended || away != nil {
			return "", "", away
		}
		return acmesToken(ctx, digest)
	}
	d := newDashboard(t, cfg)
	w := postLogin(t, d, acmeToken, "/")
	cookies := w.Result().Cookies()
	if want(t, w, http.StatusSeeOther); len(cookies) != 1 || strings.Contains(cookies[0].Value, acmeToken) {
		t.Fatalf("%v", cookies)
	}
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: value}) }
	}
	want(t, ask(t, d, "GET", "/", with(cookies[0].Value)), http.StatusOK, "acme")
	want(t, ask(t, d, "GET", "/audit", with(cookies[0].Value)), http.StatusNotFound)
	role := tenantSession + tenants.TokenDigest(acmeToken)
	for _, forged := range []string{
		strings.Replace(cookies[0].Value, role, "operate", 1), strings.Replace(cookies[0].Value, role, tenantSession+tenants.TokenDigest("another"), 1),
		strings.Replace(cookies[0].Value, role, "view", 1), strings.Replace(cookies[0].Value, role, tenantSession, 1),
	} {
		want(t, ask(t, d, "GET", "/", with(forged)), http.StatusUnauthorized)
	}
	away = errors.New("Redis is away")
	want(t, ask(t, d, "GET", "/", with(cookies[0].Value)), http.StatusUnauthorized)
	away, ended = nil, true
	want(t, ask(t, d, "GET", "/", with(cookies[0].Value)), http.StatusUnauthorized)
	want(t, postLogin(t, d, acmeToken, "/"), http.StatusUnauthorized, "That is not the token.")
}

// TestTenantPages: scripts in names are words, wrong addresses are told, and lists of none.
func TestTenantPages(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Write: true, Sources: fullSources(time.Now), Actions: operatorActions()})
	for _, path := range []string{"/tenants", "/tenants/acme"} {
		w := ask(t, d, "GET", path)
		want(t, w, http.StatusOK, "&lt;script&gt;")
		wantNot(t, w, "<script>window", "<img src=x")
	}
	want(t, ask(t, d, "GET", "/tenants?q=nobody"), http.StatusOK, "No tenant with that.")
	want(t, ask(t, d, "GET", "/tenants?sort=colour"), http.StatusBadRequest, "want name or spend")
	want(t, ask(t, d, "GET", "/tenants?page=0"), http.StatusBadRequest)
	want(t, ask(t, d, "GET", "/tenants/acme?by=colour"), http.StatusBadRequest, "want feature")
	want(t, ask(t, d, "GET", "/tenants/acme?days=9"), http.StatusBadRequest, "want 1, 7 or 30")
	want(t, ask(t, d, "GET", "/tenants/"+strings.Repeat("x", 10_000)), http.StatusNotFound)
	want(t, ask(t, d, "GET", "/tenants?page=3"), http.StatusOK, "Tenants 51–60 of 60")
}

// ownLook logs a tenant in, and looks at what it sees.
func (b *tab) ownLook() {
	b.t.Helper()
	b.look("/tenants/acme", "may act")
	b.until("document.querySelector('form[action=\"/do/lift\"]') && !window.ran")
	b.click("form.out button")
	b.until("location.pathname == '/login'")
	b.do(chromedp.SendKeys(chromedp.CSS("#token"), acmeToken+"\r"))
	b.until("location.pathname == '/' && document.body.innerText.includes('read-only') && document.querySelector('.chart canvas')")
	b.inspect("tenants-own-look")
}
