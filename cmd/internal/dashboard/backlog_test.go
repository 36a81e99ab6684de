package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"nightshift/jobs"
)

const (
	testLane  = "gemini/shop/global/gemini-2.5-flash"
	testQueue = "bulk-normal.shop.gemini-2.5-flash"
	waitText  = "waiting for quota until 02:14:07 (not a failure)"
)

// backlog is a run with tasks in every state that asynqmon shows.
type backlog struct {
	rdb   *redis.Client
	store *jobs.Store
	run   jobs.Run
	insp  *asynq.Inspector
}

// newBacklog enqueues rows, all pending.
func newBacklog(t *testing.T, rdb *redis.Client, rows int) *backlog {
	t.Helper()
	b := &backlog{rdb: rdb, store: jobs.NewStore(rdb, jobs.StoreOptions{}), insp: asynq.NewInspectorFromRedisClient(rdb)}
	b.run = b.enqueue(t, "nightly-summaries", jobs.Normal, rows)
	return b
}

func (b *backlog) enqueue(t *testing.T, name string, priority jobs.Priority, rows int) jobs.Run {
	t.Helper()
	var lines strings.Builder
	for i := range rows {
		fmt.Fprintf(&lines, `{"id":"ticket-%05d","customer":"Ana <b>%d</b>","question":%q,"amount":%d}`+"\n",
			i, i, "Why was my parcel "+strings.Repeat("very ", 60)+"late?", 9007199254740993+i)
	}
	spec := jobs.Spec{Name: name, Kind: jobs.Generate, Model: "gemini-2.5-flash", Lane: testLane, Template: "Answer {{.question}}",
		Feature: "support", Class: "bulk", Priority: priority, IDColumn: "id", Attempts: 5}
	p, err := jobs.Prepare(t.Context(), jobs.Input{Path: "-", Stdin: strings.NewReader(lines.String()), Format: "jsonl"}, spec, jobs.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.store.Enqueue(t.Context(), p, jobs.EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Run
}

// take makes the oldest pending task active, as a worker's asynq does.
func (b *backlog) take(t *testing.T) jobs.Task {
	t.Helper()
	prefix := "asynq:{" + testQueue + "}:"
	id, err := b.rdb.LMove(t.Context(), prefix+"pending", prefix+"active", "RIGHT", "LEFT").Result()
	if err != nil {
		t.Fatal(err)
	}
	b.rdb.HSet(t.Context(), prefix+"t:"+id, "state", "active")
	b.rdb.ZAdd(t.Context(), prefix+"lease", redis.Z{Score: float64(time.Now().Add(30 * time.Second).Unix()), Member: id})
	task, err := jobs.ParseTaskID(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Begin(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	return task
}

// put moves a taken task to a list of asynq's that is a sorted set.
func (b *backlog) put(t *testing.T, task jobs.Task, list string, at time.Time) {
	t.Helper()
	prefix := "asynq:{" + testQueue + "}:"
	b.rdb.LRem(t.Context(), prefix+"active", 0, task.ID())
	b.rdb.ZRem(t.Context(), prefix+"lease", task.ID())
	b.rdb.ZAdd(t.Context(), prefix+list, redis.Z{Score: float64(at.Unix()), Member: task.ID()})
	if err := b.rdb.HSet(t.Context(), prefix+"t:"+task.ID(), "state", list).Err(); err != nil {
		t.Fatal(err)
	}
}

// wait puts n tasks back as the worker does when there is no quota: through
// asynq's own server, so that their messages say so.
func (b *backlog) wait(t *testing.T, n int) {
	t.Helper()
	done := make(chan struct{}, n+64)
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	srv := asynq.NewServerFromRedisClient(b.rdb, asynq.Config{
		Queues: map[string]int{testQueue: 1}, Concurrency: 1, TaskCheckInterval: 5 * time.Millisecond, ShutdownTimeout: time.Millisecond, LogLevel: asynq.FatalLevel,
		IsFailure:      func(error) bool { return false },
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
	})
	err := srv.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		select {
		case <-left:
		default:
			done <- struct{}{}
			<-ctx.Done() // the next one stays active until the server stops
			return ctx.Err()
		}
		var p jobs.Payload
		if err := json.Unmarshal(task.Payload(), &p); err != nil {
			return err
		}
		row := jobs.Task{Run: p.Run, Index: p.Index, Gen: p.Gen}
		if _, err := b.store.Begin(ctx, row); err != nil {
			return err
		}
		if err := b.store.Wait(ctx, row, jobs.WaitQuota, jobs.Waits{}); err != nil {
			return err
		}
		return fmt.Errorf("%s", waitText)
	}))
	if err != nil {
		t.Fatal(err)
	}
	<-done
	srv.Stop()
	srv.Shutdown()
}
