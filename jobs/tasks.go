package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// taskWriter puts tasks on a queue many at a time through asynq's own client:
// asynq v0.26 has no call for that. Each task is one script call of asynq's,
// caught before it is sent and sent with others; each stays atomic by itself
// and its answer tells a task that was there already. If asynq ever enqueues in
// another way, nothing is caught and tasks go one by one: slower, still right.
// It is for one goroutine.
type taskWriter struct {
	s      *Store
	queue  string
	net    *catcher
	client *asynq.Client
	tasks  []queued
	loaded bool // asynq has announced the queue and loaded its script
	caught int  // calls so far, for a test
}

// queued is a task whose answer is still out.
type queued struct {
	task Task
	row  string
}

func (s *Store) newTaskWriter(queue string) *taskWriter {
	net := &catcher{UniversalClient: s.rdb}
	return &taskWriter{s: s, queue: queue, net: net, client: asynq.NewClientFromRedisClient(net)}
}

// add takes a task; it is on the queue after flush.
func (w *taskWriter) add(t Task, row string) { w.tasks = append(w.tasks, queued{t, row}) }

// flush sends what was added and says which tasks were not there before, in the
// order of add.
func (w *taskWriter) flush(ctx context.Context) ([]bool, error) {
	tasks := w.tasks
	w.tasks = w.tasks[:0]
	fresh := make([]bool, len(tasks))
	from := 0
	if !w.loaded && len(tasks) > 0 || w.s.opts.Batch == 1 {
		from = 1
		if w.s.opts.Batch == 1 {
			from = len(tasks)
		}
	}
	for i := range from {
		var err error
		if fresh[i], err = w.one(ctx, tasks[i]); err != nil {
			return nil, err
		}
		w.loaded = true
	}
	return fresh, w.many(ctx, tasks[from:], fresh[from:])
}

// one enqueues without waiting for others.
func (w *taskWriter) one(ctx context.Context, q queued) (bool, error) {
	err := w.enqueue(ctx, q)
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return false, nil
	}
	return err == nil, err
}

func (w *taskWriter) enqueue(ctx context.Context, q queued) error {
	payload, err := json.Marshal(Payload{V: 1, Run: q.task.Run, Index: q.task.Index, Gen: q.task.Gen, Row: q.row})
	if err != nil {
		return err
	}
	_, err = w.client.EnqueueContext(ctx, asynq.NewTask(TaskType, payload), w.s.taskOptions(q.task, w.queue)...)
	return err
}

func (w *taskWriter) many(ctx context.Context, tasks []queued, fresh []bool) error {
	if len(tasks) == 0 {
		return nil
	}
	w.net.pipe = w.s.rdb.Pipeline()
	cmds := make([]*redis.Cmd, len(tasks))
	for i, q := range tasks {
		w.net.last = nil
		if err := w.enqueue(ctx, q); err != nil {
			w.net.pipe = nil
			return err
		}
		cmds[i], fresh[i] = w.net.last, true
		if w.net.last != nil {
			w.caught++
		}
	}
	pipe := w.net.pipe
	w.net.pipe = nil
	_, _ = pipe.Exec(ctx) // each command has its own answer
	for i, cmd := range cmds {
		if err := w.answer(ctx, tasks[i], cmd, &fresh[i]); err != nil {
			return err
		}
	}
	return nil
}

// answer reads what a caught call was told. A call that failed (its script is
// gone from a Redis that was restarted) is made again by itself.
func (w *taskWriter) answer(ctx context.Context, q queued, cmd *redis.Cmd, fresh *bool) error {
	if cmd == nil {
		return nil
	}
	n, err := cmd.Int64()
	if err == nil {
		*fresh = n == 1
		return nil
	}
	if *fresh, err = w.one(ctx, q); err != nil {
		return fmt.Errorf("enqueue %s: %w", q.task.ID(), err)
	}
	return nil
}

// catcher is a Redis client that keeps script calls back in a pipeline while it
// has one, and answers "done" at once.
type catcher struct {
	redis.UniversalClient
	pipe redis.Pipeliner
	last *redis.Cmd // the call just caught
}

func (c *catcher) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	if c.pipe == nil {
		return c.UniversalClient.EvalSha(ctx, sha, keys, args...)
	}
	c.last = c.pipe.EvalSha(ctx, sha, keys, args...)
	done := redis.NewCmd(ctx)
	done.SetVal(int64(1))
	return done
}
