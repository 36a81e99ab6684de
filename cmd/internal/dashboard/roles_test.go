package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// post sends a form as a browser does, with somebody's token.
func post(t *testing.T, d *Dashboard, token, path string, form url.Values, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8780"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", accept)
	if token != "" {
		r.SetBasicAuth("ana", token)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// TestRoles: who only looks sees the pages and can do nothing, nor can anybody where
// the process was not started for it; every try is recorded.
func TestRoles(t *testing.T) {
	t.Parallel()
	var log []AuditEntry
	cfg := Config{Redis: noRedis(t), Write: true, Token: testToken, ViewToken: testViewToken, Sources: fullSources(time.Now), Actions: []Action{pauseNothing()}, Pauser: &fakePauser{}}
	cfg.Record = func(_ context.Context, e AuditEntry) error { log = append(log, e); return nil }
	d := newDashboard(t, cfg)
	form := url.Values{"target": {"bulk"}, "confirmed": {"yes"}, "back": {"/audit?who=x"}}
	want(t, post(t, d, testViewToken, "/do/pause", form, "application/json"), http.StatusForbidden, "You may only look")
	want(t, post(t, d, testViewToken, "/queues/api/queues/q:pause", nil, "application/json"), http.StatusForbidden, "You may only look")
	want(t, post(t, d, "", "/do/pause", form, "application/json"), http.StatusUnauthorized)
	want(t, post(t, d, testToken, "/do/pause", form, "application/json"), http.StatusOK, "bulk is paused by ana (dashboard)")
	w := post(t, d, testToken, "/do/pause", form, "text/html")
	if want(t, w, http.StatusSeeOther); w.Header().Get("Location") != "/audit?who=x" {
		t.Errorf("sent to %q", w.Header().Get("Location"))
	}
	form.Del("confirmed")
	want(t, post(t, d, testToken, "/do/pause", form, "application/json"), http.StatusPreconditionRequired, "confirmed=yes")
	want(t, post(t, d, testToken, "/do/pause", form, "text/html"), http.StatusOK, "Pause bulk?", `name="confirmed" value="yes"`, `name="target" value="bulk"`)
	cfg.Write = false
	want(t, post(t, newDashboard(t, cfg), testToken, "/do/pause", form, "application/json"), http.StatusForbidden, "read-only")
	var got []string
	for _, e := range log {
		got = append(got, e.Who+" "+e.What+" "+e.Target+" "+e.Result)
	}
	wanted := "ana (dashboard) pause bulk refused; ana (dashboard) pause queue q refused; ana (dashboard) pause class bulk done; ana (dashboard) pause class bulk done; ana (dashboard) pause bulk refused"
	if s := strings.Join(got, "; "); s != wanted {
		t.Errorf("recorded\n%s, want\n%s", s, wanted)
	}
	page := func(r *http.Request) { r.SetBasicAuth("eve", testViewToken) }
	wantNot(t, ask(t, d, "GET", "/", page), `action="/do/`)
	want(t, ask(t, d, "GET", "/queues/", page), http.StatusOK, `FLAG_READ_ONLY="true"`)
	for _, bad := range [][2]string{{"", testViewToken}, {testToken, testToken}, {testToken, "short"}} {
		if _, err := New(Config{Redis: noRedis(t), Token: bad[0], ViewToken: bad[1]}); err == nil || Check(DefaultListen, bad[0], bad[1]) == nil {
			t.Errorf("tokens %v are taken", bad)
		}
	}
}

// TestGuessingIsSlow: wrong tokens wait ever longer for their answer; the right one
// never does, from the same address neither.
func TestGuessingIsSlow(t *testing.T) {
	t.Parallel()
	rdb := noRedis(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{Redis: rdb, Token: testToken})
		took := func(token string) time.Duration {
			began := time.Now()
			postLogin(t, d, token, "/")
			return time.Since(began)
		}
		for n, delay := range []time.Duration{0, 0, 0, time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second} {
			if got := took("wrong"); got != delay {
				t.Errorf("failure %d took %s, want %s", n+1, got, delay)
			}
			if got := took(testToken); got != 0 {
				t.Errorf("the right token took %s", got)
			}
		}
		<-time.After(failuresLast + time.Second)
		if got := took("wrong"); got != 0 {
			t.Errorf("the next day's first failure took %s", got)
		}
	})
	var f failures
	for i := range 3 * mostAddresses {
		f.add("2001:db8:"+hex.EncodeToString([]byte{byte(i >> 8), byte(i)})+"::1", time.Now())
	}
	if len(f.of) > mostAddresses {
		t.Errorf("%d addresses are remembered", len(f.of))
	}
}

// TestOneLooksForAll: however many have a page open, one looks, while somebody has.
func TestOneLooksForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		looks, mark := 0, uint64(1)
		var err error
		l := newLive(func(context.Context) (uint64, error) {
			mu.Lock()
			defer mu.Unlock()
			looks++
			return mark, err
		})
		shows := func(m uint64, e error) {
			mu.Lock()
			defer mu.Unlock()
			mark, err = m, e
		}
		looked := func() int {
			mu.Lock()
			defer mu.Unlock()
			return looks
		}
		var lines []chan string
		for range 40 {
			news, ok := l.join()
			if !ok {
				t.Fatal("no room")
			}
			lines = append(lines, news)
		}
		hears := func(part string) {
			t.Helper()
			for i, news := range lines {
				if s := <-news; !strings.Contains(s, part) {
					t.Fatalf("viewer %d hears %q, want %q", i, s, part)
				}
			}
		}
		hears("event: changed")
		hears("still here") // nothing changes
		if n := looked(); n != 1+liveBeat {
			t.Errorf("%d looks for 40 viewers", n)
		}
		shows(1, errors.New("Redis is away"))
		hears("still here")
		shows(2, nil)
		l.nudge()
		hears("event: changed")
		for _, news := range lines {
			l.leave(news)
		}
		synctest.Wait()
		before := looked()
		<-time.After(time.Minute)
		if looked() != before {
			t.Error("it looks although nobody does")
		}
		news, _ := l.join()
		l.close()
		for range news { //nolint:revive // until it is closed
		}
		if _, ok := l.join(); ok {
			t.Error("a line is opened at the end")
		}
		l.leave(news)
	})
}

// TestLiveLine: the line says that the page changed, and ends with the dashboard.
func TestLiveLine(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Sources: fullSources(time.Now)})
	time.AfterFunc(time.Second/2, d.Close)
	w := ask(t, d, "GET", "/live")
	want(t, w, http.StatusOK, "retry: 3000", "event: changed")
	if w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("it is %s", w.Header().Get("Content-Type"))
	}
	want(t, ask(t, d, "GET", "/live"), http.StatusServiceUnavailable)
}

// TestVendoredFiles are what their list says.
func TestVendoredFiles(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("assets/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"htmx.min.js", "uPlot.iife.min.js", "uPlot.min.css"} {
		b, err := os.ReadFile("assets/vendor/" + name)
		sum := sha256.Sum256(b)
		if err != nil || !strings.Contains(string(list), hex.EncodeToString(sum[:])) {
			t.Errorf("%s is not what was published (%v)", name, err)
		}
	}
	h := ask(t, newDashboard(t, Config{Redis: noRedis(t)}), "GET", assetPath("vendor/htmx.min.js")).Header()
	if !strings.Contains(h.Get("Cache-Control"), "immutable") {
		t.Errorf("a file with its mark is kept for %q", h.Get("Cache-Control"))
	}
}

// TestAnythingInAnyNumber: none and ten thousand of everything, with names of ten
// thousand characters; fragments for htmx; forged requests.
func TestAnythingInAnyNumber(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("x", 10_000), "</script><svg onload=alert(1)>", "\x00\u202e", ""} {
		_, page := home(t, showing(func(NowQuery) (Overview, error) { return named(name), nil }))
		if strings.Contains(page, "<svg onload") || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
			t.Errorf("%.30q breaks the page", name)
		}
	}
	many := named("n")
	for range 10_000 {
		many.Events, many.Advice, many.Pauses = append(many.Events, EventView{}), append(many.Advice, AdviceView{}), append(many.Pauses, PauseView{})
	}
	many.LanesFound, many.PathsFound = 10_000, 10_000
	d := testDashboard(t, showing(func(NowQuery) (Overview, error) { return many, nil }))
	want(t, ask(t, d, "GET", "/?page=1000"), http.StatusOK, "Lanes 9991–10000 of 10000", `href="/?page=999"`)
	d = testDashboard(t, showing(func(NowQuery) (Overview, error) { return named("n"), nil }))
	want(t, ask(t, d, "GET", "/?page=99999&q="+strings.Repeat("y", 5000)), http.StatusOK)
	w := ask(t, d, "GET", "/?q=a%22b", func(r *http.Request) { r.Header.Set("HX-Request", "true") })
	want(t, w, http.StatusOK, `hx-get="/?q=a%22b"`)
	wantNot(t, w, "<html")
	w = ask(t, d, "GET", "/", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: saidCookie, Value: "%%%"}) })
	want(t, w, http.StatusOK)
}
