package worker

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// sent counts the dequeues that reach Redis.
type sent struct{ n atomic.Int64 }

func (s *sent) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := dequeues(cmd); ok {
			s.n.Add(1)
		}
		return next(ctx, cmd)
	}
}

// TestEmptyQueuesAreNotAskedAgain pins dequeues to asynq's script: a server with
// an empty queue beside a full one asks Redis about little more than its tasks.
func TestEmptyQueuesAreNotAskedAgain(t *testing.T) {
	url := realRedis(t)
	rdb := client(t, url)
	hooked, counted := client(t, url), &sent{}
	hooked.AddHook(newEmptyQueues(time.Now)) // the first hook is the outermost
	hooked.AddHook(counted)
	const tasks = 200
	c := asynq.NewClientFromRedisClient(rdb)
	for range tasks {
		if _, err := c.Enqueue(asynq.NewTask("x", nil), asynq.Queue("full")); err != nil {
			t.Fatal(err)
		}
	}
	var done atomic.Int64
	srv := asynq.NewServerFromRedisClient(hooked, asynq.Config{Concurrency: 4, Queues: map[string]int{"full": 1, "void": 9}, LogLevel: asynq.FatalLevel})
	if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done.Add(1); return nil })); err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	eventually(t, 10*time.Second, "all tasks are done", func() bool { return done.Load() == tasks })
	if n := counted.n.Load(); n < tasks || n > tasks+tasks/2 {
		t.Errorf("%d dequeues reached Redis for %d tasks; 0 means that asynq dequeues in another way now", n, tasks)
	}
}

func TestEmptyQueueIsAskedAgainInTime(t *testing.T) {
	now := time.Unix(0, 0)
	e := newEmptyQueues(func() time.Time { return now })
	asked := 0
	process := e.ProcessHook(func(context.Context, redis.Cmder) error { asked++; return redis.Nil })
	dequeue := func() error {
		return process(t.Context(), redis.NewCmd(t.Context(), "evalsha", "sha", 4, "asynq:{q}:pending", "asynq:{q}:paused", "asynq:{q}:active", "asynq:{q}:lease"))
	}
	for range 3 {
		if err := dequeue(); err != redis.Nil { //nolint:errorlint // the very value that asynq compares with
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	now = now.Add(emptyFor)
	_ = dequeue()
	if asked != 2 {
		t.Errorf("asked %d times after emptyFor, want twice", asked)
	}
	other := redis.NewCmd(t.Context(), "evalsha", "sha", 2, "asynq:{q}:pending", "x", "y")
	if _, ok := dequeues(other); ok {
		t.Error("another script is taken for a dequeue")
	}
}
