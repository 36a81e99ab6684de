package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestFirstLineOfAProcess: it has the version, addresses and each setting that is not a
// default; the credentials among those are not in it, in either format.
func TestFirstLineOfAProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nightshift.yaml")
	text := "redis: redis://night:hunter2hunter2@10.0.0.1:6379/3\ngemini: {project: p}\nmodels: {m: {rpm: 61}}\n" +
		"dashboard: {token: one-odd-token-of-ours, view_token: another-odd-token}\n" +
		"telemetry: {otlp_endpoint: \"http://svc:hunter3hunter3@otel.example:4318\"}\n" +
		"hooks: [{name: h, url: \"https://chat.example/T0/secret-path-of-it\"}]\nalerts: {webhook: \"https://chat.example/T1/alerts-secret-path\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	conf, err := loadConfig(file, []string{"NIGHTSHIFT_WORKER_CONCURRENCY=7"}, map[string]any{"log.level": "debug"})
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		f := &factory{streams: &streams{Out: io.Discard, Err: &out}, log: newLogger(&out, LogConfig{Format: format}, conf.secrets()...)}
		b := f.backend(conf, redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}))
		b.started(context.Background(), "worker", "metrics", "http://127.0.0.1:9464/metrics")
		b.close()
		line := out.String()
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%s: want one line: %s", format, line)
		}
		for _, want := range []string{"worker is ready", version(), "http://127.0.0.1:9464/metrics", "models.m.rpm=61", "worker.concurrency=7", "log.level=debug", "10.0.0.1:6379/3", "dashboard.token=***", "otel.example:4318"} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: %s is not in %s", format, want, line)
			}
		}
		for _, secret := range []string{"hunter2", "hunter3", "odd-token", "secret-path", "gemini.api=", "alerts-secret"} {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %s is in %s", format, secret, line)
			}
		}
	}
}

// TestJSONLogIsReadable: lengths of time are texts, and what says nothing is left out.
func TestJSONLogIsReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	newLogger(&out, LogConfig{Format: "json"}).Info("seen", "p95", 3500*time.Millisecond, "err", error(nil), "subject", "", "by", "ana")
	if line := out.String(); !strings.HasSuffix(line, `"msg":"seen","p95":"3.5s","by":"ana"}`+"\n") {
		t.Errorf("got %s", line)
	}
}
