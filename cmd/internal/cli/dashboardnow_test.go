package cli

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// fleetOf is the shared state of a fleet with so many lanes and tenants, each of
// which has made a call.
func fleetOf(tb testing.TB, rdb redis.UniversalClient, lanes, tenants int) *backend {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	conf, err := loadConfig("", nil, map[string]any{"dashboard.write": true, "dashboard.token": "a-token-that-operates", "dashboard.view_token": "a-token-that-looks"})
	must(err)
	f := &factory{streams: &streams{Out: tb.Output(), Err: tb.Output()}, now: time.Now}
	b := f.backend(conf, rdb)
	b.log = slog.New(slog.DiscardHandler)
	c := conf.limiterConfig()
	c.Lanes, c.Nodes = nil, map[string]limiter.Limits{"tenant/*": {RPM: 10}}
	for i := range lanes {
		lane := limiter.Lane{Provider: "gemini", Project: "default", Region: "global", Model: fmt.Sprintf("model-%03d", i)}
		c.Lanes = append(c.Lanes, limiter.LaneConfig{Lane: lane, Limits: limiter.Limits{RPM: 60, InputTPM: 1_000_000}})
	}
	must(b.lim.Configure(tb.Context(), c))
	b.callsOf(tb, c.Lanes, tenants)
	return b
}

// callsOf makes a call in each lane, and one of each tenant.
func (b *backend) callsOf(tb testing.TB, lanes []limiter.LaneConfig, tenants int) {
	tb.Helper()
	meter := gemini.NewMeter(b.rdb, b.conf.scope(), gemini.MeterOptions{})
	for i := range max(len(lanes), tenants) {
		lane, tenant := lanes[i%len(lanes)].Lane, fmt.Sprintf("t%04d", i%tenants)
		q := limiter.Request{ID: fmt.Sprint("c", i), Lane: lane, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: tenant}}
		q.Amounts[limiter.Requests], q.Amounts[limiter.InputTokens] = 1, 100
		if _, err := b.lim.Acquire(tb.Context(), q); err != nil {
			tb.Fatal(err)
		}
		meter.Put(gemini.Record{Scope: b.conf.scope().String(), Lane: lane.String(), Class: "interactive", Feature: fmt.Sprint("f", i%min(tenants, 50)), Path: q.Path,
			Method: "generateContent", Sent: true, Status: 200, Used: q.Amounts, Time: time.Now(), TookMS: 300})
	}
	if err := meter.Close(); err != nil {
		tb.Fatal(err)
	}
}

func (b *backend) testDashboard(tb testing.TB, now *dashboardNow) *dashboard.Dashboard {
	tb.Helper()
	conf := b.conf.Dashboard
	d, err := dashboard.New(dashboard.Config{
		Redis: b.rdb, Store: b.store, Write: conf.Write, Token: conf.Token, ViewToken: conf.ViewToken, Pauser: b.control(),
		Sources: b.dashboardSources(now), Actions: b.dashboardActions(), Record: b.dashboardRecord, Logger: b.log, Patience: time.Minute,
		API: b.tenantsAPI(now), TenantOf: b.tenantOf,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// visit asks for a page, or posts a form, as somebody with a token.
func visit(tb testing.TB, d *dashboard.Dashboard, token, path string, form url.Values) *httptest.ResponseRecorder {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, path, http.NoBody)
	if form != nil {
		r = httptest.NewRequestWithContext(tb.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.SetBasicAuth("ana", token)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

var markup = regexp.MustCompile(`<[^>]*>`)

func pageWords(w *httptest.ResponseRecorder) string {
	return strings.Join(strings.Fields(html.UnescapeString(markup.ReplaceAllString(w.Body.String(), " "))), " ")
}

func says(tb testing.TB, w *httptest.ResponseRecorder, status int, parts ...string) {
	tb.Helper()
	text := pageWords(w)
	if w.Code != status {
		tb.Errorf("status %d, want %d", w.Code, status)
	}
	for _, p := range parts {
		if !strings.Contains(text, p) {
			tb.Errorf("%q is not in %s", p, text)
		}
	}
}

// TestDashboardShowsTheFleet: lanes and tenants in pages, what is looked for, one
// lane with what a call would be told, and who waits for what.
func TestDashboardShowsTheFleet(t *testing.T) {
	t.Parallel()
	b := fleetOf(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}), 12, 22)
	t.Cleanup(b.close)
	d := b.testDashboard(t, &dashboardNow{backend: b})
	lane := limiter.Lane{Provider: "gemini", Project: "default", Region: "global", Model: "model-011"}
	q := limiter.Request{ID: "w", Lane: lane, Class: "bulk", Feature: "chat", Ticket: "run-7", Full: true, Path: limiter.Path{Tenant: "acme", Run: "r1"}}
	q.Amounts[limiter.Requests], q.Amounts[limiter.InputTokens] = 1, 1000
	if _, err := b.lim.Acquire(t.Context(), q); err == nil {
		t.Fatal("a job without a slot was admitted")
	}
	const look = "a-token-that-looks"
	says(t, visit(t, d, look, "/", nil), http.StatusOK, "lanes 12", "calls, last minute 22", "Lanes 1–10 of 12", "Lines 1–20 of 23", "model-000 gemini/default/global/model-000",
		"tenant/t0000 as tenant/* rpm 1", "f0 interactive 1", "rpm 2 0", "read-only",
		"Which tenant has it", "tenant/t0000 interactive 1", "and 7 with less")
	says(t, visit(t, d, look, "/?page=2", nil), http.StatusOK, "Lanes 11–12 of 12", "model-011")
	one := visit(t, d, look, "/?lane="+url.QueryEscape(lane.String()), nil)
	says(t, one, http.StatusOK, "What a call would be told now", "interactive 1 request", "Yes: an interactive call to model-011 would be admitted now.", "By class",
		"tenant acme, run r1 model-011 bulk 1", "show all")
	if text := pageWords(one); strings.Contains(text, "model-003") || !strings.Contains(text, "Booked") || !strings.Contains(text, "input_tpm 100 0") {
		t.Errorf("one lane alone: %s", text)
	}
	says(t, visit(t, d, look, "/?q=T0007", nil), http.StatusOK, "No lane with that.", "1 of 23", "tenant/t0007")
	says(t, visit(t, d, look, "/?lane=none", nil), http.StatusOK, "No lane with that.")
	says(t, visit(t, d, look, "/?page=-1", nil), http.StatusBadRequest, "want a page's number")
}

// TestDashboardActs: who operates pauses and resumes, who looks is refused, and all
// of it is in the log.
func TestDashboardActs(t *testing.T) {
	t.Parallel()
	b := fleetOf(t, redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()}), 1, 1)
	t.Cleanup(b.close)
	d := b.testDashboard(t, &dashboardNow{backend: b})
	const look, operate = "a-token-that-looks", "a-token-that-operates"
	bulk := url.Values{"target": {"bulk"}, "reason": {"a <launch>"}, "confirmed": {"yes"}}
	says(t, visit(t, d, look, "/do/pause", bulk), http.StatusForbidden, "You may only look")
	if w := visit(t, d, look, "/", nil); strings.Contains(w.Body.String(), "/do/pause") {
		t.Error("a button is shown to who may not press it")
	}
	says(t, visit(t, d, operate, "/do/pause", bulk), http.StatusOK, "class bulk is paused, 0 queues closed, no call in flight.")
	says(t, visit(t, d, operate, "/", nil), http.StatusOK, "class bulk operator by ana (dashboard): a <launch>", "Resume")
	says(t, visit(t, d, operate, "/do/resume", url.Values{"target": {"bulk"}}), http.StatusOK, "class bulk is resumed")
	says(t, visit(t, d, operate, "/do/pause", url.Values{"target": {"interactive"}, "confirmed": {"yes"}}), http.StatusConflict, "interactive")
	says(t, visit(t, d, operate, "/do/pause", url.Values{"target": {"bulk"}, "until": {"noon"}, "confirmed": {"yes"}}), http.StatusConflict, "until noon")
	says(t, visit(t, d, operate, "/do/nothing", url.Values{}), http.StatusMethodNotAllowed)
	says(t, visit(t, d, look, "/audit", nil), http.StatusOK,
		"ana (dashboard) 192.0.2.1 pause class bulk runs → paused (operator by ana (dashboard)) until it is resumed done class bulk is paused",
		"resume class bulk paused (operator by ana (dashboard)) until it is resumed → runs done", "pause bulk refused You may only look", "pause class interactive runs → failed class interactive may not be paused")
	w := visit(t, d, look, "/audit?result=failed&who=ANA&what=pause", nil)
	if says(t, w, http.StatusOK, "until noon"); strings.Contains(pageWords(w), "You may only look") {
		t.Errorf("the filter lets others through: %s", pageWords(w))
	}
	says(t, visit(t, d, look, "/audit?q=nobody", nil), http.StatusOK, "Nothing with that.")
	says(t, visit(t, d, look, "/audit?before=x", nil), http.StatusBadRequest, "want a moment")
}
