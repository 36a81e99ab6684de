package gemini

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// server is the one real Redis of the package's tests, started by the first that
// asks for it. Tests keep apart by their scopes.
var server struct {
	sync.Once
	cmd    *exec.Cmd
	dir    string
	socket string
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.cmd != nil {
		_ = server.cmd.Process.Kill()
		_ = server.cmd.Wait()
	}
	_ = os.RemoveAll(server.dir)
	os.Exit(code)
}

var errNoServer = errors.New("redis-server is not installed")

func startServer() {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		server.err = errNoServer
		return
	}
	if server.dir, server.err = os.MkdirTemp("", "gemini-redis"); server.err != nil {
		return
	}
	server.socket = filepath.Join(server.dir, "redis.sock")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", server.socket, "--save", "", "--appendonly", "no", "--dir", server.dir)
	if server.err = cmd.Start(); server.err == nil {
		server.cmd = cmd
	}
}

// dialReal connects to the real Redis, and skips where none is installed, which
// is a failure under CI.
func dialReal(t *testing.T) *redis.Client {
	t.Helper()
	server.Do(startServer)
	switch {
	case errors.Is(server.err, errNoServer) && os.Getenv("CI") != "true":
		t.Skip(server.err)
	case server.err != nil:
		t.Fatal(server.err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: server.socket, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond, MaxRetryBackoff: 200 * time.Millisecond})
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Ping(t.Context()).Err(); err != nil {
		t.Fatal("Redis did not start:", err)
	}
	return rdb
}

func dialEmbedded(t *testing.T) *redis.Client {
	t.Helper()
	m := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// onBoth runs a test on the real Redis and on the embedded one.
func onBoth(t *testing.T, f func(*testing.T, *redis.Client)) {
	t.Run("real", func(t *testing.T) { f(t, dialReal(t)) })
	t.Run("embedded", func(t *testing.T) { f(t, dialEmbedded(t)) })
}
