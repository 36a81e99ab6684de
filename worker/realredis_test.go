package worker

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// realRedis starts a Redis of the test's own and gives its URL.
func realRedis(t testing.TB) string {
	t.Helper()
	url := "redis://127.0.0.1:" + startRedis(t, "--save", "", "--appendonly", "no")
	awaitRedis(t, url)
	return url
}

// startRedis starts a Redis with arguments and gives its port.
func startRedis(t testing.TB, args ...string) (port string) {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed: Lua must be tested on real Redis in CI")
		}
		t.Skip("redis-server is not installed")
	}
	port = freePort(t)
	if slices.Contains(args, "--cluster-enabled") {
		args = append(args, "--cluster-port", freePort(t)) // the default may lie beyond the last port
	}
	cmd := exec.Command(bin, append(args, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir())...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return port
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func awaitRedis(t testing.TB, url string) {
	t.Helper()
	c := client(t, url)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("Redis did not start: %v", err)
	}
}

// client connects as the worker does, so that a starting Redis is waited for.
func client(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	c, err := PatientClient(url, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// eventually waits for a condition on a real server, where no virtual clock reaches.
func eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(within)
	for !ok() {
		select {
		case <-limit:
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}
