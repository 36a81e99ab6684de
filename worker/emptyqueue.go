package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// emptyFor is how long a queue that was found empty is taken for empty. asynq
// looks at an idle server's queues only every taskCheck anyway.
const emptyFor = 200 * time.Millisecond

// emptyQueues answers asynq's dequeues of queues that were empty a moment ago,
// without asking Redis. asynq shuffles a server's queues by weight for every
// task and asks one after the other (processor.go, queues; rdb.go, Dequeue), so
// that a lane whose work is of normal priority pays for nearly two scripts a task.
//
// It knows the dequeue by its keys. If asynq ever changes those, nothing is
// answered here, and all is as without it.
type emptyQueues struct {
	now func() time.Time

	mu    sync.Mutex
	until map[string]time.Time // by pending key
}

func newEmptyQueues(now func() time.Time) *emptyQueues {
	return &emptyQueues{now: now, until: map[string]time.Time{}}
}

// DialHook leaves dialling as it is.
func (e *emptyQueues) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessPipelineHook leaves pipelines as they are: asynq dequeues in none.
func (e *emptyQueues) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook answers a dequeue of an empty queue itself.
func (e *emptyQueues) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		queue, ok := dequeues(cmd)
		if !ok {
			return next(ctx, cmd)
		}
		if e.empty(queue) {
			cmd.SetErr(redis.Nil)
			return redis.Nil
		}
		err := next(ctx, cmd)
		if errors.Is(err, redis.Nil) {
			e.note(queue)
		}
		return err
	}
}

func (e *emptyQueues) empty(queue string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.until[queue])
}

func (e *emptyQueues) note(queue string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until[queue] = e.now().Add(emptyFor)
}

// dequeues gives the pending key when cmd is asynq's dequeue: its only script
// that takes pending, paused, active and lease in this order.
func dequeues(cmd redis.Cmder) (pending string, ok bool) {
	args := cmd.Args()
	if cmd.Name() != "evalsha" || len(args) < 7 {
		return "", false
	}
	pending, ok = args[3].(string)
	if !ok || !strings.HasSuffix(pending, ":pending") {
		return "", false
	}
	paused, ok1 := args[4].(string)
	lease, ok2 := args[6].(string)
	return pending, ok1 && ok2 && strings.HasSuffix(paused, ":paused") && strings.HasSuffix(lease, ":lease")
}
