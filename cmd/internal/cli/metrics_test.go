package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// watchedAt serves a process's metrics at a free port, or several.
func watchedAt(t *testing.T, addr string) *watched {
	t.Helper()
	b := &backend{conf: &loaded{Config: Config{Metrics: ListenConfig{Listen: addr}}}, log: slog.New(slog.DiscardHandler)}
	w, err := b.watch("worker", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

func askFor(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestWatchedTellsWhetherItIsReady: not while it starts, not while it cannot work, and
// not from the moment that it is told to end; it is up all the while.
func TestWatchedTellsWhetherItIsReady(t *testing.T) {
	t.Parallel()
	w := watchedAt(t, "127.0.0.1:0")
	base := strings.TrimSuffix(w.url, "/metrics")
	want := func(status int, text string) {
		t.Helper()
		if got, body := askFor(t, base+"/readyz"); got != status || !strings.Contains(body, text) {
			t.Errorf("/readyz answers %d %s; want %d with %q", got, body, status, text)
		}
	}
	want(503, `"why":"starting"`)
	var fault error
	w.readyWhen(func(context.Context) (map[string]any, error) { return map[string]any{"role": "leader"}, fault })
	want(200, `"role":"leader"`)
	fault = errors.New("dial redis: refused, key AIzaSyA1234567890abcdefg")
	want(503, `[redacted]`)
	fault = nil
	ctx, end := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	w.leaveWith(ctx)
	context.AfterFunc(ctx, func() { close(stopped) })
	end()
	<-stopped
	for !w.leaving.Load() { // the two run side by side
		runtime.Gosched()
	}
	want(503, `"why":"draining"`)
	if got, _ := askFor(t, base+"/healthz"); got != 200 {
		t.Errorf("/healthz answers %d", got)
	}
	if _, body := askFor(t, w.url); !strings.Contains(body, `nightshift_build_info{process="worker",version=`) {
		t.Errorf("/metrics does not say what it is of:\n%.300s", body)
	}
}

// TestMetricsPortsAreShared: processes of one machine take one port after the other,
// and one too many says so.
func TestMetricsPortsAreShared(t *testing.T) {
	t.Parallel()
	first := watchedAt(t, "127.0.0.1:0")
	taken := strings.TrimSuffix(strings.TrimPrefix(first.url, "http://"), "/metrics")
	if _, err := listenFirst(taken); err == nil || !strings.Contains(err.Error(), "taken by another process") {
		t.Errorf("a taken port: %v", err)
	}
	span, _ := ports(taken + "-" + strings.TrimPrefix(taken, "127.0.0.1:"))
	if len(span) != 1 || span[0] != taken {
		t.Errorf("a span of one port is %v", span)
	}
	for addr, want := range map[string]int{":9464": 1, "127.0.0.1:9464-9479": 16, "[::1]:9000-9001": 2} {
		if got, err := ports(addr); err != nil || len(got) != want || strings.HasPrefix(got[0], ":") {
			t.Errorf("%s is %v, %v", addr, got, err)
		}
	}
	for _, addr := range []string{"9464", "host:", "host:1-70000", "host:20-10", "host:1-1000", "host:a-b"} {
		if got, err := ports(addr); err == nil {
			t.Errorf("%s is taken for %v", addr, got)
		}
	}
}

func TestMetricsAddressOfEachProcess(t *testing.T) {
	t.Parallel()
	c := Config{Metrics: ListenConfig{Listen: "127.0.0.1:9464-9479"}}
	for own, want := range map[string]string{"": "127.0.0.1:9464-9479", "off": "", "0.0.0.0:9": "0.0.0.0:9"} {
		if got, _ := c.metricsAddr("worker", own); got != want {
			t.Errorf("worker.metrics %q with metrics.listen is %q, want %q", own, got, want)
		}
	}
	c.Scheduler.Metrics = "nowhere"
	if err := c.checkMetrics(); err == nil || !strings.HasPrefix(err.Error(), "scheduler.metrics:") {
		t.Errorf("a bad address: %v", err)
	}
}

// TestLogHoldsNoKey: whatever is logged, and by whomever, no credential comes out, in
// both formats.
func TestLogHoldsNoKey(t *testing.T) {
	t.Parallel()
	secrets := []string{"AIzaSyA1234567890abcdefg", "nsk_ABCDEFGH234567", "our-own-odd-token", "hunter2hunter2", "ya29.a0Af_xyz"}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := newLogger(&out, LogConfig{Format: format, Level: "debug"}, "our-own-odd-token", "", "short")
		log.With("who", secrets[0]).WithGroup("call").Info("a call with "+secrets[1],
			"err", errors.New("GET /x?key="+secrets[0]+": "+secrets[2]),
			"url", "redis://user:"+secrets[3]+"@10.0.0.1:6379/0", "headers", http.Header{"Authorization": {"Bearer " + secrets[4]}},
			slog.Group("more", "token", secrets[2]), "run", "short")
		for _, s := range secrets {
			if strings.Contains(out.String(), s) {
				t.Errorf("%s: %q is in %s", format, s, out.String())
			}
		}
		if !strings.Contains(out.String(), "10.0.0.1:6379") || !strings.Contains(out.String(), "short") {
			t.Errorf("%s: too much is gone: %s", format, out.String())
		}
	}
}

func TestLogSettings(t *testing.T) {
	t.Parallel()
	for _, bad := range []LogConfig{{Format: "xml"}, {Level: "loud"}, {Level: "info+2"}} {
		if err := bad.check(); err == nil || !strings.HasPrefix(err.Error(), "log.") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	var out bytes.Buffer
	log := newLogger(&out, LogConfig{Format: "json", Level: "WARN"})
	log.Info("little")
	log.Warn("much")
	if got := out.String(); strings.Contains(got, "little") || !strings.Contains(got, `"msg":"much"`) {
		t.Errorf("logged %s", got)
	}
}
