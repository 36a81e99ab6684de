package dashboard

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	testToken     = "a-token-of-some-length"
	testViewToken = "a-token-to-look-only"
)

// noRedis is a client for what asks Redis nothing.
func noRedis(t *testing.T) redis.UniversalClient {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func TestWhereItMayListen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ listen, token, want string }{
		{DefaultListen, "", ""},
		{"localhost:80", "", ""},
		{"127.8.9.1:80", "", ""},
		{"[::1]:80", "", ""},
		{"[::ffff:127.0.0.1]:80", "", ""},
		{":8780", "", "without a login"},
		{"0.0.0.0:8780", "", "without a login"},
		{"[::]:8780", "", "without a login"},
		{"10.0.0.5:8780", "", "SSH tunnel"},
		{"localhost.example.com:8780", "", "without a login"},
		{"0.0.0.0:8780", testToken, ""},
		{"0.0.0.0:8780", "short", "at least 16"},
		{DefaultListen, "short", "at least 16"},
		{"0.0.0.0:8780", "a token with spaces in it", "space"},
		{"0.0.0.0:8780", testToken + "\n", "line break"},
		{"8780", "", "HOST:PORT"},
	} {
		err := Check(c.listen, c.token, "")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("Check(%q, %q) = %v, want %q", c.listen, c.token, err, c.want)
		}
	}
	if err := Check(":1", "", ""); !errors.Is(err, ErrOpen) {
		t.Errorf("%v is not ErrOpen", err)
	}
	if _, err := New(Config{Redis: noRedis(t), Token: "short"}); err == nil {
		t.Error("a token that Check refuses is taken")
	}
}

// postLogin sends the form as a browser does.
func postLogin(t *testing.T, d *Dashboard, token, to string) *httptest.ResponseRecorder {
	t.Helper()
	form := url.Values{"token": {token}, "to": {to}}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://night.example/login", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

func TestLogin(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	d := newDashboard(t, Config{Redis: noRedis(t), Token: testToken, Now: func() time.Time { return now }})
	far := func(r *http.Request) { r.Host = "night.example" } // with a token any name is answered
	page := func(r *http.Request) { r.Header.Set("Accept", "text/html") }

	w := ask(t, d, "GET", "/queues/q/metrics?duration=60", far, page)
	want(t, w, http.StatusSeeOther)
	if to := w.Header().Get("Location"); to != "/login?to=%2Fqueues%2Fq%2Fmetrics%3Fduration%3D60" {
		t.Errorf("sent to %s", to)
	}
	want(t, ask(t, d, "GET", w.Header().Get("Location"), far), http.StatusOK, `value="/queues/q/metrics?duration=60"`)
	for _, path := range []string{"/", "/queues/", "/queues/api/queues", "/queues/static/js/main.5adda2da.chunk.js", "/api/pauses"} {
		want(t, ask(t, d, "GET", path, far), http.StatusUnauthorized)
	}
	want(t, postLogin(t, d, "wrong-token-of-length", "/"), http.StatusUnauthorized, "not the token")

	w = postLogin(t, d, " "+testToken+"\n", "/queues/")
	want(t, w, http.StatusSeeOther)
	if to := w.Header().Get("Location"); to != "/queues/" {
		t.Errorf("sent to %s", to)
	}
	cookie := w.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, testToken) {
		t.Errorf("the cookie is %v", cookie)
	}
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: value}) }
	}
	want(t, ask(t, d, "GET", "/", far, with(cookie.Value)), http.StatusOK, "Log out")
	parts := strings.Split(cookie.Value, ".")
	for _, forged := range []string{
		parts[0] + ".operate.9" + parts[2] + "." + parts[3], parts[0] + "." + parts[1] + "." + parts[2] + ".", "YW5h." + strings.Join(parts[1:], "."),
		parts[0] + ".view." + parts[2] + "." + parts[3], parts[0] + ".admin." + parts[2] + "." + parts[3], "", ".", "...", strings.Repeat("a.", 5000),
	} {
		want(t, ask(t, d, "GET", "/", far, with(forged)), http.StatusUnauthorized)
	}
	now = now.Add(sessionFor)
	want(t, ask(t, d, "GET", "/", far, with(cookie.Value)), http.StatusUnauthorized)
}

func TestOtherWaysIn(t *testing.T) {
	t.Parallel()
	p := &fakePauser{}
	d := newDashboard(t, Config{Redis: noRedis(t), Token: testToken, Write: true, Pauser: p})
	basic := func(user, password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(user, password) }
	}
	want(t, ask(t, d, "GET", "/api/pauses", basic("ana", testToken)), http.StatusOK)
	want(t, ask(t, d, "GET", "/api/pauses", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+testToken) }), http.StatusOK)
	w := ask(t, d, "GET", "/api/pauses", basic("ana", testToken+"x"))
	want(t, w, http.StatusUnauthorized, "bearer token")
	if w.Header().Get("WWW-Authenticate") == "" {
		t.Error("basic auth is not offered")
	}
	want(t, ask(t, d, "POST", "/queues/api/queues/q:pause", basic("ana\nb", testToken)), http.StatusNoContent)
	if len(p.asked()) != 1 || p.asked()[0] != "pause q by ana b (dashboard)" {
		t.Errorf("asked %v", p.calls)
	}
	want(t, ask(t, d, "GET", "/healthz"), http.StatusOK, "ok")
}

func TestRedirectsStayHere(t *testing.T) {
	t.Parallel()
	for to, goes := range map[string]string{
		"": "/", "/queues/": "/queues/", "https://evil.example": "/", "//evil.example": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "/login": "/",
	} {
		if got := localPath(to); got != goes {
			t.Errorf("localPath(%q) = %q, want %q", to, got, goes)
		}
	}
}
