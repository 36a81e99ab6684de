package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// startRedis starts a redis-server on a socket, without persistence, and stops it
// with stop.
func startRedis(bin string) (rdb *redis.Client, stop func(), err error) {
	dir, err := os.MkdirTemp("", "peers-redis")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "redis.sock")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, PoolSize: 64, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	stop = func() {
		_ = rdb.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	if err := rdb.Ping(context.Background()).Err(); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%s does not answer: %w", bin, err)
	}
	return rdb, stop, nil
}

// turned is a Redis in process whose clock is set by hand.
type turned struct {
	server *miniredis.Miniredis
	rdb    *redis.Client
	at     time.Time
}

func newTurned(start time.Time) (*turned, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	server.SetTime(start)
	return &turned{server: server, rdb: redis.NewClient(&redis.Options{Addr: server.Addr()}), at: start}, nil
}

// set turns the clock on; keys that end meanwhile are gone.
func (c *turned) set(at time.Time) {
	if d := at.Sub(c.at); d > 0 {
		c.server.FastForward(d)
		c.at = at
	}
	c.server.SetTime(at)
}

func (c *turned) close() {
	_ = c.rdb.Close()
	c.server.Close()
}
