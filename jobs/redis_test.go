package jobs

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

// realRedis is the socket of a redis-server that TestMain started; "" without.
var realRedis string

func TestMain(m *testing.M) {
	stop := startRedis()
	code := m.Run()
	stop()
	os.Exit(code)
}

// startRedis runs a redis-server of our own. In CI it must be there.
func startRedis() (stop func()) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			fmt.Fprintln(os.Stderr, "redis-server is missing: the scripts must be tested on a real one")
			os.Exit(1)
		}
		fmt.Fprintln(os.Stderr, "no redis-server: testing on miniredis only")
		return func() {}
	}
	dir, err := os.MkdirTemp("", "jobs-redis-")
	if err != nil {
		panic(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no", "--databases", "500")
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket, MaxRetries: 100, MaxRetryBackoff: 50 * time.Millisecond})
	if err := rdb.Ping(context.Background()).Err(); err != nil {
		panic(err)
	}
	_ = rdb.Close()
	realRedis = socket
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
}

var lastDB atomic.Int64

// redisClient gives an empty database of the real Redis.
func redisClient(t testing.TB) redis.UniversalClient {
	t.Helper()
	if realRedis == "" {
		return miniClient(t)
	}
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: realRedis, DB: int(lastDB.Add(1)), PoolSize: 20})
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.FlushDB(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	return rdb
}

// miniClient gives an embedded Redis over TCP.
func miniClient(t testing.TB) redis.UniversalClient {
	t.Helper()
	mr := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: mr.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// onBoth runs a test on the real Redis and on the embedded one.
func onBoth(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	if realRedis != "" {
		t.Run("redis", func(t *testing.T) { test(t, redisClient(t)) })
	}
	t.Run("miniredis", func(t *testing.T) { test(t, miniClient(t)) })
}
