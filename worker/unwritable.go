package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// unwritable has commands wait for a Redis that is there and takes no writes: it is
// out of memory, or its disk is full. go-redis repeats them only when a connection
// breaks, and asynq never does (redisRetries), so that a row whose end was refused
// would be held by nobody for two minutes, and be paid for again where the spool's
// disk is the full one. A refused script has changed nothing: Redis looks before its
// first write.
type unwritable struct{}

// DialHook leaves dialling as it is.
func (unwritable) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook repeats a command as long as a broken connection is repaired.
func (unwritable) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		for try := 0; try < redisRetries && takesNoWrites(err); try++ {
			select {
			case <-ctx.Done():
				return err
			case <-time.After(min(redisMinBackoff<<try, redisMaxBackoff)):
			}
			cmd.SetErr(nil)
			err = next(ctx, cmd)
		}
		return err
	}
}

// ProcessPipelineHook leaves pipelines as they are: no row's end is in one.
func (unwritable) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// takesNoWrites tells a refusal that ends when somebody makes room.
func takesNoWrites(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "OOM ") || strings.HasPrefix(reply.Error(), "MISCONF "))
}
