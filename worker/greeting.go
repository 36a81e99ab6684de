package worker

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/redis/go-redis/v9"
)

// greeting lets nobody wait for a new connection that died before its first words.
// go-redis says them again on that same connection, dead as it is, with all the
// patience of a command: 40 s, in which a Redis that was away for a second behind a
// balancer or proxy, which took the connection in its place, is long back. Here they
// are said once, and the command's own patience makes another connection.
type greeting struct{}

// DialHook leaves dialling as it is.
func (greeting) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook lets HELLO and AUTH be said once.
func (greeting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name != "hello" && name != "auth" {
			return next(ctx, cmd)
		}
		return once(ctx, func(ctx context.Context) error { return next(ctx, cmd) }, cmd)
	}
}

// ProcessPipelineHook does the same for what follows them: SELECT, for one.
func (greeting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name != "select" && name != "readonly" && name != "client" {
			return next(ctx, cmds)
		}
		return once(ctx, func(ctx context.Context) error { return next(ctx, cmds) }, cmds...)
	}
}

// once ends the pause before a second try. The error is then one for which go-redis
// makes another connection.
func once(ctx context.Context, say func(context.Context) error, cmds ...redis.Cmder) error {
	short, cancel := context.WithTimeout(ctx, redisMinBackoff/2)
	defer cancel()
	err := say(short)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	for _, cmd := range cmds {
		cmd.SetErr(io.ErrUnexpectedEOF)
	}
	return io.ErrUnexpectedEOF
}
