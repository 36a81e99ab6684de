package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/cmd/internal/dashboard"
	"nightshift/cmd/internal/tenants"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// callAPI asks the API of tenants behind the dashboard's login.
func callAPI(t *testing.T, d *dashboard.Dashboard, token, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// used counts a call of a tenant.
func used(t *testing.T, b *backend, tenant, key, feature string, micro int64) {
	t.Helper()
	meter := gemini.NewMeter(b.rdb, b.conf.scope(), gemini.MeterOptions{Zone: b.conf.spendZone()})
	r := gemini.Record{Scope: b.conf.scope().String(), Lane: "gemini/default/global/m", Class: "interactive", Feature: feature, Path: limiter.Path{Tenant: tenant, Key: key},
		Method: "generateContent", Sent: true, Status: http.StatusOK, Time: time.Now(), Held: time.Now(), TookMS: 300, MicroUSD: &micro}
	r.Used[limiter.Requests], r.Used[limiter.InputTokens] = 1, 100
	meter.Put(r)
	if err := meter.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTenantsOverHTTP: behind the dashboard's login a tenant is made and its limits hold;
// pages show it; its own token sees nothing of others; all is in the audit log.
func TestTenantsOverHTTP(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	says(t, visit(t, d, looks, "/tenants", nil), http.StatusOK, "No tenants yet")
	says(t, callAPI(t, d, "a-wrong-token-of-16", "GET", "/tenants", ""), http.StatusUnauthorized, `"status":401`)
	says(t, callAPI(t, d, looks, "PUT", "/tenants/acme", `{}`), http.StatusForbidden, "may only look")
	says(t, callAPI(t, d, operates, "PUT", "/tenants/acme", `{"note":"the <shop>","weight":3,"limits":{"rpm":300,"micro_usd_per_day":25000000}}`), http.StatusCreated)
	says(t, callAPI(t, d, operates, "PUT", "/tenants/beta", `{"note":"rival"}`), http.StatusCreated)
	made := callAPI(t, d, operates, "POST", "/tenants/acme/keys", `{"name":"site","feature":"chat","limits":{"rpm":60}}`)
	says(t, made, http.StatusCreated)
	var key struct{ Key struct{ ID string } }
	s.check(json.Unmarshal(made.Body.Bytes(), &key))
	id := key.Key.ID
	used(t, s.be, "acme", id, "chat<b>", 24_000_000)
	used(t, s.be, "beta", "", "rivals", 1)
	says(t, visit(t, d, looks, "/tenants?sort=spend", nil), http.StatusOK, "2 of 2", "rpm 300, $25.00/day", "$24.00", "$25.00", "the <shop>")
	d2 := s.be.testDashboard(t, &dashboardNow{backend: s.be})
	says(t, visit(t, d2, operates, "/tenants/acme?by=key&days=1", nil), http.StatusOK, "the <shop>", "weight 3 among those who wait", "site ("+id+")", "Requests by key", "$24.00", "rpm 60", "Emergency stop", "Revoke", "Money of",
		"nightshift tenants usage acme --by key --step hour")
	says(t, visit(t, d2, looks, "/tenants/none", nil), http.StatusNotFound, "no such thing")

	do := func(name, target string) *httptest.ResponseRecorder {
		return visit(t, d2, operates, "/do/"+name, url.Values{"target": {target}, "tenant": {"acme"}, "confirmed": {"yes"}, "reason": {"a leak"}})
	}
	says(t, do("stop", "tenant/acme"), http.StatusOK, "tenant/acme is stopped")
	says(t, visit(t, d2, looks, "/tenants/acme", nil), http.StatusOK, "Stopped: one call a minute", "by ana (dashboard): a leak")
	says(t, do("lift", "tenant/acme"), http.StatusOK, "as before the stop (rpm 300)")
	says(t, do("key-revoke", "key/"+id), http.StatusOK, "is revoked")
	says(t, do("key-revoke", "key/k_000000000000"), http.StatusConflict, "no such key")

	text, _, err := s.be.book.AddToken(t.Context(), "ana", "acme", "ada", time.Time{})
	s.check(err)
	own := visit(t, d2, text, "/", nil)
	says(t, own, http.StatusOK, "acme", "chat<b>", "$24.00", "read-only")
	for _, others := range []string{"rival", "beta", "the <shop>", "by ana"} {
		if strings.Contains(pageWords(own), others) {
			t.Errorf("a tenant sees %q: %s", others, pageWords(own))
		}
	}
	says(t, callAPI(t, d2, text, "GET", "/tenants", ""), http.StatusOK, `"name":"acme"`, `"found":1`)
	if csv := callAPI(t, d2, text, "GET", "/tenants/acme/usage?by=feature&format=csv", ""); !strings.Contains(csv.Body.String(), ",acme,chat<b>,1,1,100,0,24000000,0,0") {
		t.Errorf("%d %s", csv.Code, csv.Body)
	}
	says(t, callAPI(t, d2, text, "GET", "/tenants/beta", ""), http.StatusNotFound)
	says(t, visit(t, d2, text, "/runs", nil), http.StatusNotFound)
	says(t, visit(t, d2, text, "/do/stop", url.Values{"target": {"tenant/beta"}}), http.StatusMethodNotAllowed)
	says(t, visit(t, d2, looks, "/audit", nil), http.StatusOK, "tenant-put tenant/acme → rpm 300, micro_usd_per_day 25000000, weight 3", "tenant-put tenant/acme refused", "key-add tenant/acme key/"+id, "stop tenant/acme rpm 300 → rpm 1", "lift tenant/acme rpm 1 → rpm 300", "key-revoke key/"+id+" held → revoked")
}

// TestTenantsCommands: the same functions by command.
func TestTenantsCommands(t *testing.T) {
	t.Parallel()
	rdb := benchRedis(t)
	file := filepath.Join(t.TempDir(), "night.yaml")
	if err := os.WriteFile(file, []byte("redis: redis://"+rdb.Options().Addr+"/0\nmodels: {m: {rpm: 60}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		root := newRootCmd(&streams{In: strings.NewReader(""), Out: &said, Err: &said})
		root.SetArgs(append([]string{"--config", file, "--state-dir", t.TempDir(), "tenants"}, args...))
		cmd, err := root.ExecuteContextC(t.Context())
		if code := (&streams{Err: &said}).fail(cmd, err, false); code != want {
			t.Errorf("%v ended with %d, want %d", args, code, want)
		}
		return said.String()
	}
	expect := func(got string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("%q is not in\n%s", p, got)
			}
		}
		for line := range strings.Lines(got) {
			if len([]rune(line)) > 130 && !strings.HasPrefix(line, "nightshift:") {
				t.Errorf("%d characters: %s", len([]rune(line)), line)
			}
		}
	}
	expect(run(0, "list"), "no tenant; `nightshift tenants set acme")
	expect(run(0, "set", "acme", "--note", "the shop", "--rpm", "300", "--usd-per-day", "25", "--weight", "3", "--by", "ada"), "acme; the shop; weight 3", "rpm", "none", "$25.00", "tenant/acme is made", "--tenant acme")
	expect(run(0, "set", "acme", "--rpm", "200"), "300", "200")
	expect(run(0, "set", "acme/web", "--burst", "20"), "acme/web", "concurrency", "20")
	expect(run(2, "set", "acme", "--rpm", "fast"), "--rpm fast: want a number above zero")
	expect(run(2, "set", "acme", "--weight", "5000"), "weight: 5000; want 1 to 1000", "nothing was changed")
	expect(run(2, "set", "a b"), `tenant: "a b": want 1 to 64 letters`)
	expect(run(2, "set", "acme/web/x"), "want TENANT or TENANT/TEAM")
	conf, err := loadConfig(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	used(t, (&factory{streams: &streams{Out: t.Output(), Err: t.Output()}, now: time.Now}).backend(conf, rdb), "acme", "", "chat", 1_500_000)
	expect(run(0, "list"), "acme", "rpm 200", "$1.50", "the shop")
	expect(run(0, "show", "acme"), "acme; the shop; weight 3", "200", "teams", "web", "concurrency 20")
	expect(run(0, "set", "acme", "--rpm", "default", "--note", "none"), "rpm", "none")
	expect(run(2, "show", "acmee"), `there is no tenant or team "acmee"; did you mean acme?`)
	expect(run(0, "usage", "acme", "--by", "feature"), "chat", "$1.500000", "by the day")
	expect(run(0, "usage", "acme", "--output", "csv"), "from,tenant,name,calls", ",acme,,1,1,100,0,1500000,0,0")
	expect(run(2, "usage", "acme", "--from", "never"), "from: \"never\": want a day")
	expect(run(0, "usage", "acme/web"), "no calls of acme")
	token := strings.TrimSpace(strings.Split(run(0, "token", "acme", "--name", "ada", "--expires", "720h"), "\n")[0])
	if !strings.HasPrefix(token, tenants.TokenPrefix) {
		t.Errorf("the token is %q", token)
	}
	list := run(0, "token", "acme", "--list")
	expect(list, "v_", "ada")
	expect(run(2, "token", token, "--list"), "this looks like a token")
	expect(run(0, "token", "acme", "--end", list[strings.Index(list, "v_"):][:14]), "is ended")
	expect(run(2, "token", "acme"), "want one of --name, --list and --end")
}

// TestManyTenants: of ten thousand tenants the list shows a page at a time, in any order.
func TestManyTenants(t *testing.T) {
	t.Parallel()
	s, d := watchedRun(t)
	b := s.be
	records := map[string]any{}
	for i := range 10_000 {
		records[fmt.Sprintf("tenant/t%05d", i)] = fmt.Sprintf(`{"rev":1,"note":"note %d","by":"ana"}`, i)
	}
	if err := b.rdb.HSet(t.Context(), "nightshift:{limiter:"+b.conf.scope().String()+"}:tenants", records).Err(); err != nil {
		t.Fatal(err)
	}
	says(t, visit(t, d, looks, "/tenants?page=400", nil), http.StatusOK, "10000 of 10000", "t09999", "Tenants 9976–10000 of 10000")
	says(t, visit(t, d, looks, "/tenants?q=NOTE+9999", nil), http.StatusOK, "1 of 10000", "t09999")
	got, after := 0, ""
	for range 30 {
		w := callAPI(t, d, looks, "GET", "/tenants?limit=500&after="+after, "")
		n := strings.Count(w.Body.String(), `"teams":`)
		if got += n; !strings.Contains(w.Header().Get("Link"), `rel="next"`) {
			break
		}
		after = fmt.Sprintf("t%05d", got-1)
	}
	if got != 10_000 {
		t.Errorf("%d tenants came page by page", got)
	}
}
