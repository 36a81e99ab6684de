package worker

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini/geminitest"

	"github.com/hibiken/asynq"
)

// TestParkIsWhatAsynqDoes pins both scripts to asynq's layout: asynq itself
// reads what they leave.
func TestParkIsWhatAsynqDoes(t *testing.T) {
	rdb := client(t, realRedis(t))
	ctx := t.Context()
	const queue = "parking"
	c := asynq.NewClientFromRedisClient(rdb)
	for i := range 4 {
		if _, err := c.Enqueue(asynq.NewTask("x", []byte("payload")), asynq.TaskID(fmt.Sprintf("t%d", i)), asynq.Queue(queue), asynq.MaxRetry(7)); err != nil {
			t.Fatal(err)
		}
	}
	// t1 was let go by a pull: it has its turn.
	if err := rdb.HSet(ctx, taskPrefix(queue)+"t1", "pulled", "1").Err(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	ids, err := park(ctx, rdb, queue, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"t0", "t2", "t3"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("parked %v, want %v", ids, want)
	}
	due := now.Add(time.Hour).Truncate(time.Second)
	if err := comeBack(ctx, rdb, queue, []parked{{"t2", due, "waiting for quota until noon (not a failure)"}, {"t1", due, "x"}}, now); err != nil {
		t.Fatal(err)
	}

	inspect := asynq.NewInspectorFromRedisClient(rdb)
	info, err := inspect.GetTaskInfo(queue, "t2")
	if err != nil {
		t.Fatal(err)
	}
	if info.State != asynq.TaskStateRetry || !info.NextProcessAt.Equal(due) || info.LastErr != "waiting for quota until noon (not a failure)" ||
		info.LastFailedAt.Unix() != now.Unix() || string(info.Payload) != "payload" || info.MaxRetry != 7 || info.Retried != 0 {
		t.Errorf("asynq reads %+v", info)
	}
	if info, err := inspect.GetTaskInfo(queue, "t1"); err != nil || info.State != asynq.TaskStatePending || info.LastErr != "" {
		t.Errorf("pulled task: %+v, %v", info, err)
	}
	q, err := inspect.GetQueueInfo(queue)
	if err != nil || q.Pending != 1 || q.Retry != 3 {
		t.Errorf("queue %+v, %v", q, err)
	}
}

// TestParkLeavesPausedQueues: a pause touches no row.
func TestParkLeavesPausedQueues(t *testing.T) {
	rdb := client(t, realRedis(t))
	const queue = "resting"
	if _, err := asynq.NewClientFromRedisClient(rdb).Enqueue(asynq.NewTask("x", nil), asynq.Queue(queue)); err != nil {
		t.Fatal(err)
	}
	if err := asynq.NewInspectorFromRedisClient(rdb).PauseQueue(queue); err != nil {
		t.Fatal(err)
	}
	if ids, err := park(t.Context(), rdb, queue, time.Now()); err != nil || len(ids) > 0 {
		t.Errorf("parked %v, %v", ids, err)
	}
}

// TestNewJobsAreLinedUp: with a limit that is used up, every row of two runs
// soon has its place in the line, and what asynqmon shows of it says so.
func TestNewJobsAreLinedUp(t *testing.T) {
	r, _, _ := newFleetRig(t, limiter.Limits{RPM: 30}, geminitest.Config{})
	gate := limiter.NewRedis(r.rdb, testScope, limiter.RedisOptions{})
	first := r.enqueue(600, spec())
	second := r.enqueue(20, spec(func(s *jobs.Spec) { s.Name, s.Priority = "second", jobs.High }))
	r.start(Config{Redis: r.rdb, Store: r.store, Gate: gate, Client: r.clientOver(gate), Concurrency: 2, CallTimeout: time.Minute, Logger: r.log.logger()})
	for _, run := range []jobs.Run{first, second} {
		r.until(run, 20*time.Second, "no row is unseen", func(c jobs.Counts) bool { return c[jobs.Queued] == 0 && c[jobs.Waiting] > 0 })
	}
	state, err := gate.State(t.Context(), laneOf(t))
	if err != nil {
		t.Fatal(err)
	}
	var waiting int64
	for _, l := range state.Leaves {
		waiting += l.Waiting
	}
	if waiting < 500 {
		t.Errorf("%d have a place in the line", waiting)
	}
	// The ledger says waiting a moment before asynq does: the place comes first.
	for limit := time.Now().Add(20 * time.Second); ; pass(50 * time.Millisecond) {
		odd := r.oddOfWaiting(500)
		if odd == "" {
			return
		}
		if time.Now().After(limit) {
			t.Fatal(odd)
		}
	}
}

// oddOfWaiting looks at the tasks that asynq shows as retrying: at least so
// many, each saying that it waits for quota, has not failed and comes later.
func (r *rig) oddOfWaiting(atLeast int) string {
	r.Helper()
	tasks, err := asynq.NewInspectorFromRedisClient(r.rdb).ListRetryTasks(jobs.Queue(jobs.Normal, testLane), asynq.PageSize(1000))
	if err != nil || len(tasks) < atLeast {
		return fmt.Sprintf("%d tasks wait in asynq, %v", len(tasks), err)
	}
	for _, task := range tasks {
		if !strings.HasPrefix(task.LastErr, "waiting for quota") || !strings.HasSuffix(task.LastErr, "(not a failure)") || task.Retried != 0 || !task.NextProcessAt.After(time.Now()) {
			return fmt.Sprintf("asynqmon shows %+v", task)
		}
	}
	return ""
}

func laneOf(t *testing.T) limiter.Lane {
	t.Helper()
	lane, err := limiter.ParseLane(testLane)
	if err != nil {
		t.Fatal(err)
	}
	return lane
}
