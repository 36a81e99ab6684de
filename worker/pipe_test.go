package worker

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// pipeClient connects to an embedded Redis without the network, so that virtual
// time works. Pipelines would deadlock on its unbuffered pipes.
func pipeClient(t testing.TB, m *miniredis.Miniredis) redis.UniversalClient {
	c := redis.NewClient(&redis.Options{
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		PoolSize: 200, MaxRetries: redisRetries, MinRetryBackoff: redisMinBackoff, MaxRetryBackoff: redisMaxBackoff,
		DisableIdentity: true, MaintNotificationsConfig: quiet(), ConnMaxIdleTime: -1,
	})
	t.Cleanup(func() {
		_ = c.Close()
		m.Close()
	})
	return c
}

// pass lets time go by: virtual time in most tests, real time in benchmarks.
func pass(d time.Duration) { <-time.After(d) }
