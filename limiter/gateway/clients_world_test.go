package gateway

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// steppedWriter sends the first piece at once, and each other one at a step.
type steppedWriter struct {
	http.ResponseWriter
	step <-chan struct{} // nil: there is none
	ctx  context.Context
	some bool
}

// Unwrap lets the flusher be found.
func (w *steppedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write waits and writes.
func (w *steppedWriter) Write(p []byte) (int, error) {
	if w.some {
		select {
		case <-w.step:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	w.some = true
	return w.ResponseWriter.Write(p)
}

// clientRedis starts a redis-server of the test's own; outside CI, where none
// is installed, an embedded one has to do.
func clientRedis(t *testing.T) redis.UniversalClient {
	t.Helper()
	addr := redis.Options{MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond}
	bin, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
		dir := t.TempDir()
		addr.Network, addr.Addr = "unix", filepath.Join(dir, "s")
		cmd := exec.Command(bin, "--port", "0", "--unixsocket", addr.Addr, "--save", "", "--appendonly", "no", "--dir", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	case os.Getenv("CI") == "true":
		t.Fatal("redis-server is not installed")
	default:
		t.Log("redis-server is not installed: permits are in an embedded one")
		addr.Addr = miniredis.RunT(t).Addr()
	}
	rdb := redis.NewClient(&addr)
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return rdb
}
