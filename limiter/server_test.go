package limiter

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// realRedis is the socket of a redis-server that lives as long as the tests;
// empty when none is installed.
var realRedis string

func TestMain(m *testing.M) {
	if spec := os.Getenv(holderEnv); spec != "" {
		hold(spec)
		return
	}
	stop, err := startRedis()
	if err != nil && os.Getenv("CI") == "true" {
		fmt.Fprintln(os.Stderr, "the suite must run on a real Redis under CI:", err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

func startRedis() (stop func(), err error) {
	stop = func() {}
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return stop, err
	}
	dir, err := os.MkdirTemp("", "limiter-redis")
	if err != nil {
		return stop, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return stop, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer rdb.Close()
	if err := rdb.Ping(context.Background()).Err(); err != nil {
		stop()
		return func() {}, err
	}
	realRedis = socket
	return stop, nil
}

var scopes atomic.Int64

// testScope is a scope that no other test uses, so that tests may share a server.
func testScope() Scope {
	return Scope{Provider: "gemini", Project: fmt.Sprintf("p%d", scopes.Add(1))}
}

func dialReal(t testing.TB) *redis.Client {
	t.Helper()
	if realRedis == "" {
		t.Log("no redis-server is installed: this ran on the embedded one")
		return dialEmbedded(t)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: realRedis})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func dialEmbedded(t testing.TB) *redis.Client {
	t.Helper()
	m, err := miniredis.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
