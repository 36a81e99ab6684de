package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestServiceAwaitsRedis: a Redis that is away is waited for, and said so once a minute;
// what waiting does not mend is an error at once, and a signal ends the wait well.
func TestServiceAwaitsRedis(t *testing.T) {
	away, loading := redisAway("redis://h:1/0", context.DeadlineExceeded), redisAway("redis://h:1/0", errors.New("LOADING Redis is loading"))
	login := redisAway("redis://h:1/0", errors.New("WRONGPASS no"))
	for _, c := range []struct {
		name  string
		tries []error
		stop  time.Duration
		want  error
		said  int
	}{
		{"there", []error{nil}, 0, nil, 0},
		{"away for a while", []error{away, away, loading, nil}, 0, nil, 1},
		{"a wrong password", []error{login}, 0, login, 0},
		{"a wrong password after it came", []error{away, login}, 0, login, 1},
		{"told to stop", []error{away}, 90 * time.Second, nil, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.stop > 0 {
				time.AfterFunc(c.stop, stop)
			}
			n := -1
			err := awaitRedis(ctx, slog.New(slog.NewTextHandler(&out, nil)), func() error {
				n = min(n+1, len(c.tries)-1)
				return c.tries[n]
			})
			var coded *codedError
			if c.stop > 0 {
				if !errors.As(err, &coded) || coded.code != exitOK || coded.err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			} else if !errors.Is(err, c.want) || n != len(c.tries)-1 {
				t.Errorf("%s: %v after %d tries", c.name, err, n+1)
			}
			if got := strings.Count(out.String(), "waits for Redis"); got != c.said {
				t.Errorf("%s: said so %d times: %s", c.name, got, out.String())
			}
		})
	}
}
