package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var inlineScript = regexp.MustCompile(`<script( nonce="([^"]+)")?>`)

// TestIndex: asynqmon's page with our banner, nothing from elsewhere, and a
// policy that its own scripts pass.
func TestIndex(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t)})
	seen := map[string]bool{}
	for _, path := range []string{"/queues/", "/queues/queues/" + testQueue, "/queues/queues/a.txt/tasks/x.json", "/queues/q/metrics", "/queues/redis"} {
		w := ask(t, d, "GET", path)
		want(t, w, http.StatusOK, `<aside id="nightshift"`, `src="/assets/banner.js"`, `FLAG_ROOT_PATH="\/queues"`, `src="/queues/static/js/main.`)
		wantNot(t, w, "googleapis", "https://", "http://")
		nonces := inlineScript.FindAllStringSubmatch(w.Body.String(), -1)
		if len(nonces) != 2 {
			t.Fatalf("%s: %d scripts in the page, want 2", path, len(nonces))
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, n := range nonces {
			if n[2] == "" || !strings.Contains(policy, "'nonce-"+n[2]+"'") {
				t.Errorf("%s: script %q is not in the policy %s", path, n[0], policy)
			}
			seen[n[2]] = true
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d nonces for 5 answers", len(seen))
	}
	want(t, ask(t, d, "GET", "/queues"), http.StatusFound)
	want(t, ask(t, d, "HEAD", "/queues/"), http.StatusOK)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{Redis: noRedis(t), Prefix: "/mon/"})
	for path, cache := range map[string]string{
		"/": "no-store", "/mon/": "no-store", "/nothing": "no-store", "/api/pauses": "no-store", "/assets/home.css": "private, max-age=300",
		"/mon/static/js/main.5adda2da.chunk.js": "private, max-age=86400",
	} {
		h := ask(t, d, "GET", path).Header()
		for name, value := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": cache} {
			if h.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", path, name, h.Get(name), value)
			}
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
	want(t, ask(t, d, "GET", "/mon/favicon.ico"), http.StatusOK)
	want(t, ask(t, d, "GET", "/favicon.ico"), http.StatusMovedPermanently)
	want(t, ask(t, d, "GET", "/assets/moon.svg"), http.StatusOK, "<svg")
	want(t, ask(t, d, "GET", "/assets/banner.js"), http.StatusOK, "is no failure")
	want(t, ask(t, d, "GET", "/assets/../dashboard.go"), http.StatusTemporaryRedirect)
}

func TestPrefixHasToBeAPath(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"queues", "/{x}", "/a b"} {
		if _, err := New(Config{Redis: noRedis(t), Prefix: prefix}); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Redis") {
		t.Errorf("without Redis: %v", err)
	}
}
