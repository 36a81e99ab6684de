package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// replies counts commands and answers EVALSHA with an error reply while down.
type replies struct {
	down  atomic.Bool
	asked atomic.Int64
}

func (r *replies) DialHook(next redis.DialHook) redis.DialHook { return next }
func (r *replies) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *replies) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if r.down.Load() && cmd.Name() == "evalsha" {
			r.asked.Add(1)
			err := replyError("NOAUTH Authentication required.")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

// TestErrorRepliesDoNotSpin: asynq asks again at once after an error reply
// (#1058). A minute of NOAUTH must cost some dozens of commands, and the first
// good reply ends the slowness.
func TestErrorRepliesDoNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &replies{}
		rdb := pipeClient(t, miniredis.NewMiniRedis())
		rdb.AddHook(newSpinGuard())
		rdb.AddHook(r)
		srv := asynq.NewServerFromRedisClient(rdb, asynq.Config{Queues: map[string]int{"q": 1}, TaskCheckInterval: taskCheck, LogLevel: asynq.FatalLevel})
		ran := make(chan struct{}, 1)
		if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { ran <- struct{}{}; return nil })); err != nil {
			t.Fatal(err)
		}
		defer srv.Shutdown()
		pass(time.Second)
		r.down.Store(true)
		pass(time.Minute)
		if n := r.asked.Load(); n > 200 {
			t.Errorf("%d commands in a minute of error replies", n)
		}
		r.down.Store(false)
		if _, err := asynq.NewClientFromRedisClient(rdb).Enqueue(asynq.NewTask("x", nil), asynq.Queue("q")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		<-ran
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the task ran %v after Redis was well again", took)
		}
	})
}
