package worker

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// hashOf is a task's hash without its message, which no move touches.
func hashOf(t *testing.T, rdb redis.UniversalClient, queue, id string) map[string]string {
	t.Helper()
	h := rdb.HGetAll(t.Context(), taskPrefix(queue)+id).Val()
	if h["msg"] == "" {
		t.Fatalf("task %s of %s has no message; has asynq's key layout changed?", id, queue)
	}
	delete(h, "msg")
	return h
}

// rescheduled runs a task into each queue's retry set by asynq itself: its
// handler asks for a wait of an hour.
func rescheduled(t *testing.T, rdb redis.UniversalClient, queue string, ids ...string) {
	t.Helper()
	c := asynq.NewClientFromRedisClient(rdb)
	for _, id := range ids {
		if _, err := c.Enqueue(asynq.NewTask("x", nil), asynq.TaskID(id), asynq.Queue(queue), asynq.MaxRetry(1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	srv := asynq.NewServerFromRedisClient(rdb, asynq.Config{Queues: map[string]int{queue: 1}, TaskCheckInterval: 10 * time.Millisecond,
		IsFailure: isFailure, RetryDelayFunc: retryDelay, LogLevel: asynq.FatalLevel})
	if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		return waitFor("waiting for quota", time.Hour, time.Now())
	})); err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	eventually(t, 5*time.Second, "tasks are in the retry set", func() bool {
		return rdb.ZCard(t.Context(), retryKey(queue)).Val() == int64(len(ids))
	})
}

// TestMoveIsWhatAsynqDoes pins the script to asynq's layout: what it leaves is
// what asynq's own forwarder leaves, and what RunTask leaves, but at the front.
func TestMoveIsWhatAsynqDoes(t *testing.T) {
	rdb := client(t, realRedis(t))
	ctx := t.Context()
	rescheduled(t, rdb, "ours", "a", "b", "c")
	rescheduled(t, rdb, "theirs", "a")

	if err := rdb.LPush(ctx, pendingKey("ours"), "waiting-before").Err(); err != nil {
		t.Fatal(err)
	}
	left, err := toFront(ctx, rdb, "ours", []string{"c", "gone", "a"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"gone"}; !reflect.DeepEqual(left, want) {
		t.Errorf("left %v, want %v", left, want)
	}
	// asynq pops from the right.
	if got, want := rdb.LRange(ctx, pendingKey("ours"), 0, -1).Val(), []string{"waiting-before", "a", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("pending %v, want %v (the last runs first)", got, want)
	}
	if got := rdb.ZRange(ctx, retryKey("ours"), 0, -1).Val(); !reflect.DeepEqual(got, []string{"b"}) {
		t.Errorf("retry set %v, want [b]", got)
	}

	forwardByAsynq(t, rdb, "theirs")
	ours, theirs := hashOf(t, rdb, "ours", "a"), hashOf(t, rdb, "theirs", "a")
	sameShape(t, ours, theirs)
}

// forwardByAsynq lets asynq's forwarder move what is due: it is made due first.
// The queue is paused, so that the task stays in pending.
func forwardByAsynq(t *testing.T, rdb redis.UniversalClient, queue string) {
	t.Helper()
	inspect := asynq.NewInspectorFromRedisClient(rdb)
	if err := inspect.PauseQueue(queue); err != nil {
		t.Fatal(err)
	}
	for _, id := range rdb.ZRange(t.Context(), retryKey(queue), 0, -1).Val() {
		rdb.ZAdd(t.Context(), retryKey(queue), redis.Z{Member: id, Score: 1})
	}
	srv := asynq.NewServerFromRedisClient(rdb, asynq.Config{Queues: map[string]int{queue: 1}, DelayedTaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel})
	if err := srv.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return errors.New("paused") })); err != nil {
		t.Fatal(err)
	}
	defer srv.Shutdown()
	eventually(t, 5*time.Second, "asynq forwards", func() bool { return rdb.LLen(t.Context(), pendingKey(queue)).Val() == 1 })
}

// sameShape compares two task hashes: the same fields, the same state, and a
// pending_since in the same unit.
func sameShape(t *testing.T, ours, theirs map[string]string) {
	t.Helper()
	a, err1 := strconv.ParseInt(ours["pending_since"], 10, 64)
	b, err2 := strconv.ParseInt(theirs["pending_since"], 10, 64)
	if err1 != nil || err2 != nil || time.Duration(max(a-b, b-a)) > time.Minute {
		t.Errorf("pending_since %q, asynq leaves %q", ours["pending_since"], theirs["pending_since"])
	}
	ours["pending_since"], theirs["pending_since"] = "", ""
	if ours["pulled"] != "1" {
		t.Errorf("task hash %v: no mark for park.lua", ours)
	}
	delete(ours, "pulled")
	if !reflect.DeepEqual(ours, theirs) {
		t.Errorf("task hash %v, asynq leaves %v", ours, theirs)
	}
}

// TestMoveInBatches: more ids than one script takes keep their order.
func TestMoveInBatches(t *testing.T) {
	rdb := client(t, realRedis(t))
	var ids []string
	for i := range moveBatch*2 + 1 {
		id := strconv.Itoa(i)
		ids = append(ids, id)
		rdb.ZAdd(t.Context(), retryKey("q"), redis.Z{Member: id, Score: 9e9})
	}
	if left, err := toFront(t.Context(), rdb, "q", ids, time.Now()); err != nil || len(left) > 0 {
		t.Fatalf("left %v, err %v", left, err)
	}
	for i, want := range ids {
		if got := rdb.RPop(t.Context(), pendingKey("q")).Val(); got != want {
			t.Fatalf("place %d: %s, want %s", i, got, want)
		}
	}
}
