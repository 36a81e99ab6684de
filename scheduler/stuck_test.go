package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

// TestActiveWithoutLease: a task that asynq shows as active while the lease set
// lost it gets a lease; one with a lease keeps its own; an id whose task is
// gone leaves the list, or every listing of the queue would fail.
func TestActiveWithoutLease(t *testing.T) {
	rdb := realRedis(t)
	ctx := t.Context()
	const queue = "bulk-normal.p.m"
	running, end := make(chan string, 2), make(chan struct{})
	srv := asynq.NewServerFromRedisClient(rdb, asynq.Config{Queues: map[string]int{queue: 1}, Concurrency: 2, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel})
	if err := srv.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		running <- id
		<-end
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	defer close(end)
	c := asynq.NewClientFromRedisClient(rdb)
	for _, id := range []string{"lost", "held"} {
		if _, err := c.Enqueue(asynq.NewTask("x", nil), asynq.TaskID(id), asynq.Queue(queue)); err != nil {
			t.Fatal(err)
		}
		<-running
	}
	if n := rdb.ZRem(ctx, holdKey(queue), "lost").Val(); n != 1 {
		t.Fatal("asynq keeps no lease where we look for it")
	}
	rdb.LPush(ctx, activeKey(queue), "ghost")
	held := rdb.ZScore(ctx, holdKey(queue), "held").Val()

	var r Report
	if err := (&Sweeper{Redis: rdb}).sweepQueue(ctx, queue, &r); err != nil {
		t.Fatal(err)
	}
	if r.Leases != 1 || r.Ghosts != 1 {
		t.Errorf("gave %d leases, removed %d ghosts, want 1 and 1", r.Leases, r.Ghosts)
	}
	given := time.Until(time.Unix(int64(rdb.ZScore(ctx, holdKey(queue), "lost").Val()), 0))
	if given < newLease-5*time.Second || given > newLease {
		t.Errorf("the new lease holds %v, want about %v", given, newLease)
	}
	if now := rdb.ZScore(ctx, holdKey(queue), "held").Val(); now < held {
		t.Errorf("a good lease was shortened from %v to %v", held, now)
	}
	if n := rdb.LLen(ctx, activeKey(queue)).Val(); n != 2 {
		t.Errorf("%d entries are active, want 2", n)
	}
}
