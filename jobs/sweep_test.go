package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// take does what asynq's dequeue does: the oldest task becomes active, with a
// lease.
func (b *bench) take(queue string) Task {
	b.t.Helper()
	prefix := "asynq:{" + queue + "}:"
	id, err := b.rdb.RPopLPush(b.ctx, prefix+"pending", prefix+"active").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	b.rdb.HSet(b.ctx, prefix+"t:"+id, "state", "active")
	b.rdb.ZAdd(b.ctx, prefix+"lease", redis.Z{Score: float64(time.Now().Add(30 * time.Second).Unix()), Member: id})
	task, err := ParseTaskID(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return task
}

func (b *bench) sweep(run string) SweepReport {
	b.t.Helper()
	r, err := b.Sweep(b.ctx, run)
	if err != nil {
		b.t.Fatal(err)
	}
	b.balanced(run)
	return r
}

func TestSweepFindsNothingToDo(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(20), EnqueueOptions{})
		for range 3 { // calls that take longer than any sweep's patience
			b.begin(b.take(r.Queue))
		}
		for range 2 {
			if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 20}) {
				t.Errorf("swept %+v", got)
			}
		}
		if c := b.balanced(r.Run.ID); c[Running] != 3 {
			t.Errorf("counts %v", c)
		}
	})
}

// TestSweepAfterADashboard deletes, archives and runs tasks by hand.
func TestSweepAfterADashboard(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(12), EnqueueOptions{})
		insp := asynq.NewInspectorFromRedisClient(rdb)
		id := func(i int64) string { return Task{Run: r.Run.ID, Index: i}.ID() }
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(insp.DeleteTask(r.Queue, id(3)))
		must(insp.ArchiveTask(r.Queue, id(4)))
		must(insp.ArchiveTask(r.Queue, id(5)))
		must(insp.RunTask(r.Queue, id(5)))
		// asynq's "archive all" trims its set and leaves the task: a ghost.
		must(insp.ArchiveTask(r.Queue, id(6)))
		must(rdb.ZRem(b.ctx, "asynq:{"+r.Queue+"}:archived", id(6)).Err())
		// A ghost of a waiting one.
		must(rdb.HSet(b.ctx, "asynq:{"+r.Queue+"}:t:"+id(7), "state", "retry").Err())
		must(rdb.LRem(b.ctx, "asynq:{"+r.Queue+"}:pending", 0, id(7)).Err())
		// What the result writer leaves of a deleted task.
		must(insp.DeleteTask(r.Queue, id(8)))
		must(rdb.HSet(b.ctx, "asynq:{"+r.Queue+"}:t:"+id(8), "result", "x").Err())

		if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 12, Recreated: 2, Unarchived: 2, Requeued: 1}) {
			t.Errorf("swept %+v", got)
		}
		if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 12}) {
			t.Errorf("again %+v", got)
		}
		b.everyTaskOnce(r.Queue, 12)
	})
}

// everyTaskOnce drains the queue.
func (b *bench) everyTaskOnce(queue string, n int) {
	b.t.Helper()
	seen := map[Task]bool{}
	for b.pending(queue) > 0 {
		task := b.take(queue)
		if seen[task] {
			b.t.Errorf("%s is queued twice", task.ID())
		}
		seen[task] = true
		if got := b.begin(task); got.Outcome != Proceed {
			b.t.Errorf("%s: %+v", task.ID(), got)
		}
	}
	if len(seen) != n {
		b.t.Errorf("%d tasks, want %d", len(seen), n)
	}
}

// TestSweepWithoutLeases: asynq looks for dead workers' tasks by their leases
// only.
func TestSweepWithoutLeases(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(3), EnqueueOptions{})
		task := b.take(r.Queue)
		b.begin(task)
		lease := "asynq:{" + r.Queue + "}:lease"
		rdb.Del(b.ctx, lease)
		if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 3, Leaseless: 1}) {
			t.Errorf("swept %+v", got)
		}
		score := rdb.ZScore(b.ctx, lease, task.ID()).Val()
		if now := float64(time.Now().Unix()); score > now || score < now-60 {
			t.Errorf("lease ends at %v, now is %v", score, now)
		}
		if b.row(r.Run.ID, "r0").State != Running {
			t.Error("a row whose worker may live was taken from it")
		}
		// Its worker lived and asynq's end of the task failed half-way: the
		// task is in no list.
		rdb.Del(b.ctx, lease, "asynq:{"+r.Queue+"}:active")
		if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 3, Requeued: 1, Demoted: 1}) {
			t.Errorf("swept %+v", got)
		}
		b.everyTaskOnce(r.Queue, 3)
		for i, want := range []int64{1, 2, 3} { // a worker has it again, and others take it from that
			if n, err := b.Lost(b.ctx, r.Run.ID); err != nil || n != want {
				t.Errorf("look %d: %d calls were lost with their workers (%v), want %d", i, n, err, want)
			}
			b.begin(task)
		}
	})
}

// TestSweepKeepsALateAnswer: a row is declared lost, and its old handler comes
// back with the answer.
func TestSweepKeepsALateAnswer(t *testing.T) {
	b := newBench(t, redisClient(t))
	r := b.enqueue(named("n"), numbered(1), EnqueueOptions{})
	task := b.take(r.Queue)
	b.begin(task)
	rdb := b.rdb
	rdb.Del(b.ctx, "asynq:{"+r.Queue+"}:lease", "asynq:{"+r.Queue+"}:active", "asynq:{"+r.Queue+"}:t:"+task.ID())
	if got := b.sweep(r.Run.ID); got != (SweepReport{Open: 1, Recreated: 1}) {
		t.Errorf("swept %+v", got)
	}
	if s := b.row(r.Run.ID, "r0").State; s != Queued {
		t.Errorf("state %v", s)
	}
	if !b.finish(task, Done) {
		t.Error("the paid answer was refused")
	}
	if got := b.begin(b.take(r.Queue)); got.Outcome != OutcomeFinished {
		t.Errorf("the new task would call again: %+v", got)
	}
}

// TestSweepWhileEnqueueing: the sweep sees rows whose tasks are about to be
// written.
func TestSweepWhileEnqueueing(t *testing.T) {
	b := newBench(t, redisClient(t))
	var run string
	r, err := b.Enqueue(b.ctx, b.prepare(named("n"), numbered(60)), EnqueueOptions{Progress: func(done, _ int64) {
		if run == "" {
			latest, err := b.Find(b.ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			run = latest.ID
		}
		rdbLose(b, run, done-1)
		b.sweep(run)
	}})
	if err != nil || r.New != 60 {
		t.Fatalf("%+v (%v)", r, err)
	}
	b.everyTaskOnce(r.Queue, 60)
}

// rdbLose removes the task of a row.
func rdbLose(b *bench, run string, index int64) {
	insp := asynq.NewInspectorFromRedisClient(b.rdb)
	if err := insp.DeleteTask("bulk-normal.p.gemini-x", Task{Run: run, Index: index}.ID()); err != nil {
		b.t.Error(err)
	}
}

// TestWithAsynq runs rows through a real asynq server: the tasks are what it
// expects, and nothing of them is left.
func TestWithAsynq(t *testing.T) {
	b := newBench(t, redisClient(t))
	r := b.enqueue(named("n"), numbered(50), EnqueueOptions{})
	done := make(chan struct{}, 50)
	srv := asynq.NewServerFromRedisClient(b.rdb, asynq.Config{Queues: map[string]int{r.Queue: 1}, Concurrency: 8, LogLevel: asynq.FatalLevel, TaskCheckInterval: 10 * time.Millisecond})
	err := srv.Start(asynq.HandlerFunc(func(ctx context.Context, at *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		task, err := ParseTaskID(id)
		if err != nil {
			return err
		}
		begun, err := b.Begin(ctx, task)
		if err != nil || begun.Outcome != Proceed {
			t.Errorf("%s: %+v (%v)", id, begun, err)
			return err
		}
		_, err = b.Finish(ctx, task, Result{Row: begun.Row, Status: Done.String(), Output: "x", Fields: begun.Fields})
		done <- struct{}{}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		<-done
	}
	srv.Shutdown()
	if c := b.balanced(r.Run.ID); c[Done] != 50 {
		t.Errorf("counts %v", c)
	}
	left := b.rdb.Keys(b.ctx, "asynq:*:t:*").Val()
	fields := b.rdb.Keys(b.ctx, "*:fld:*").Val()
	if len(left)+len(fields) > 0 {
		t.Errorf("left: %v %v", left, fields)
	}
}
