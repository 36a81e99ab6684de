package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// spinGuard slows a client down while Redis answers with errors. asynq's
// dequeue loop does not pause after an error reply (asynq #1058), so that
// NOAUTH, OOM, MASTERDOWN or a proxy's error would be asked for again at the
// speed of the network by every server, at 100 % of a core each.
type spinGuard struct {
	streak atomic.Int64 // error replies since the last good one
}

func newSpinGuard() *spinGuard { return &spinGuard{} }

// pause is how long the n-th error reply in a row holds its caller.
func (*spinGuard) pause(n int64) time.Duration {
	return min(50*time.Millisecond<<min(n, 10), 2*time.Second)
}

// DialHook leaves dialling as it is.
func (g *spinGuard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook holds the caller of a command that Redis refused.
func (g *spinGuard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		g.observe(ctx, err)
		return err
	}
}

// ProcessPipelineHook does the same for a pipeline, by its first error.
func (g *spinGuard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		g.observe(ctx, err)
		return err
	}
}

func (g *spinGuard) observe(ctx context.Context, err error) {
	if err == nil || errors.Is(err, redis.Nil) {
		if g.streak.Load() != 0 {
			g.streak.Store(0)
		}
		return
	}
	if !refusal(err) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(g.pause(g.streak.Add(1))):
	}
}

// refusal tells an error reply that will come again at once from one that is
// part of a working exchange. Connection errors have their own pauses in the
// client's retries.
func refusal(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	text := reply.Error()
	for _, normal := range []string{"NOSCRIPT", "NOT FOUND", "ERR NOT FOUND", "MOVED", "ASK", "BUSYGROUP"} {
		if strings.HasPrefix(text, normal) {
			return false
		}
	}
	return true
}
