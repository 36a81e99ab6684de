package dashboard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// realRedis starts a Redis of the test's own and connects to it.
func realRedis(t *testing.T) *redis.Client {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed: Lua must be tested on real Redis in CI")
		}
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	cmd := exec.Command(bin, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: 25, MinRetryBackoff: 20 * time.Millisecond, MaxRetryBackoff: 200 * time.Millisecond})
	t.Cleanup(func() {
		_ = rdb.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("Redis did not start: %v", err)
	}
	return rdb
}

// newDashboard is a dashboard that a test asks by ask.
func newDashboard(t *testing.T, cfg Config) *Dashboard {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask makes a request as a browser on this machine would.
func ask(t *testing.T, h http.Handler, method, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8780"+path, http.NoBody)
	r.Header.Set("Accept", "application/json")
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, parts ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	for _, p := range parts {
		if !strings.Contains(w.Body.String(), p) {
			t.Errorf("%q is not in %.600s", p, w.Body)
		}
	}
}

func wantNot(t *testing.T, w *httptest.ResponseRecorder, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(w.Body.String(), p) {
			t.Errorf("%q is in %.600s", p, w.Body)
		}
	}
}
