package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// reply is an error that Redis answers with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// TestUnwritable: a command that Redis has no room for is repeated until it has, or
// the caller gives up; other refusals are the caller's at once.
func TestUnwritable(t *testing.T) {
	for name, c := range map[string]struct {
		refusal error
		times   int
		limit   time.Duration
		ok      bool
		tries   int
	}{
		"room after a while":   {reply("OOM command not allowed when used memory > 'maxmemory'."), 8, time.Hour, true, 9},
		"a full disk":          {reply("MISCONF Errors writing to the AOF file: No space left on device"), 3, time.Hour, true, 4},
		"never room":           {reply("OOM command not allowed"), 1000, time.Hour, false, 1 + redisRetries},
		"the caller gives up":  {reply("OOM command not allowed"), 1000, 250 * time.Millisecond, false, 2},
		"another refusal":      {reply("WRONGTYPE Operation against a key"), 1, time.Hour, false, 1},
		"not Redis's own word": {errors.New("OOM in the proxy"), 1, time.Hour, false, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			do := unwritable{}.ProcessHook(func(_ context.Context, cmd redis.Cmder) error {
				if tries++; tries <= c.times {
					cmd.SetErr(c.refusal)
				}
				return cmd.Err()
			})
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			cmd := redis.NewStatusCmd(ctx, "set", "x", 1)
			if err := do(ctx, cmd); err == nil != c.ok || tries != c.tries || !errors.Is(cmd.Err(), err) {
				t.Errorf("%s: %v (%v) after %d tries, want %d", name, err, cmd.Err(), tries, c.tries)
			}
		})
	}
}
