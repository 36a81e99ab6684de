package scheduler

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// realRedis starts a Redis of the test's own and connects to it.
func realRedis(t testing.TB) redis.UniversalClient {
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

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }
