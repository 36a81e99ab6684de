package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func patient(name string, most time.Duration) Spec {
	s := named(name)
	s.MaxWait = most
	return s
}

// TestExpire: rows that waited too long end as that, without a task; those that
// a worker has, that ended, or that came later stay.
func TestExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(patient("n", time.Hour), numbered(5), EnqueueOptions{})
		run := r.Run.ID
		b.begin(Task{Run: run, Index: 1})
		b.end(ended(Task{Run: run, Index: 2}, Done, "in time"))
		b.begin(Task{Run: run, Index: 3})
		if err := b.Wait(b.ctx, Task{Run: run, Index: 3}, WaitQuota, Waits{}); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, at := range []time.Duration{0, 59 * time.Minute} {
			if gone, err := b.Expire(b.ctx, run, now.Add(at)); err != nil || len(gone) != 0 {
				t.Errorf("after %v %v have expired (%v)", at, gone, err)
			}
		}
		gone, err := b.Expire(b.ctx, run, now.Add(61*time.Minute))
		if err != nil || len(gone) != 3 || gone[0].Index != 0 || gone[1].Index != 3 || gone[2].Index != 4 {
			t.Errorf("%v have expired (%v)", gone, err)
		}
		if c := b.balanced(run); c[Expired] != 3 || c[Running] != 1 || c[Done] != 1 || b.pending(r.Queue) != 2 {
			t.Errorf("rows are %v, %d tasks", c, b.pending(r.Queue))
		}
		row := b.row(run, "r4")
		if e := row.Result.Error; row.State != Expired || e.Cause != CauseMaxWait || row.Result.Row != "r4" || string(row.Fields) == "" ||
			!strings.Contains(e.Message, "waited 1h1m") || !strings.Contains(e.Message, "the most is 1h0m0s; no worker had come to it") {
			t.Errorf("the row is %+v, its error %+v", row, e)
		}
		if n, err := b.Retry(b.ctx, run, RetryFilter{Causes: []string{CauseMaxWait}}); err != nil || n != 3 {
			t.Errorf("retried %d (%v)", n, err)
		}
		b.balanced(run)
	})
}

// TestRetriedRowsWaitAnew: the time counts from when a row was enqueued last; a
// run enqueued once more does not wait anew.
func TestRetriedRowsWaitAnew(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		most := patient("n", time.Hour)
		run := b.enqueue(most, rows("a:1", "b:1", "c:1"), EnqueueOptions{}).Run.ID
		b.end(ended(Task{Run: run, Index: 0}, Failed, "bad"))
		later(50 * time.Minute)
		if n, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil || n != 1 {
			t.Fatalf("retried %d (%v)", n, err)
		}
		b.want(b.enqueue(most, rows("a:1", "b:2", "c:1", "d:1"), EnqueueOptions{Update: true}), tally{new: 1, known: 2, changed: 1})
		later(20 * time.Minute)
		if got := b.begin(Task{Run: run, Index: 0, Gen: 1}); got.Waited != 20*time.Minute || got.MaxWait != time.Hour {
			t.Errorf("a has waited %v of %v", got.Waited, got.MaxWait)
		}
		if err := b.Wait(b.ctx, Task{Run: run, Index: 0, Gen: 1}, WaitQuota, Waits{}); err != nil {
			t.Fatal(err)
		}
		gone, err := b.Expire(b.ctx, run, time.Now())
		if err != nil || len(gone) != 1 || gone[0].Index != 2 {
			t.Errorf("%v have expired (%v), want c", gone, err)
		}
		if got := b.sweep(run); got.Expired != 0 {
			t.Errorf("swept %+v", got)
		}
		later(40*time.Minute + time.Second)
		if got := b.sweep(run); got.Expired != 0 { // the workers have half a minute to see it
			t.Errorf("swept %+v", got)
		}
		later(expireGrace)
		if got := b.sweep(run); got.Expired != 3 || got.Open != 0 {
			t.Errorf("swept %+v", got)
		}
	})
}

// TestWithoutMaxWait: a run that says nothing waits for ever.
func TestWithoutMaxWait(t *testing.T) {
	b := newBench(t, redisClient(t))
	run := b.enqueue(named("n"), numbered(2), EnqueueOptions{}).Run.ID
	if gone, err := b.Expire(b.ctx, run, time.Now().Add(1000*time.Hour)); err != nil || len(gone) != 0 {
		t.Errorf("%v have expired (%v)", gone, err)
	}
	if got := b.begin(Task{Run: run}); got.MaxWait != 0 {
		t.Errorf("begun %+v", got)
	}
}

// TestMaxWaitIsNoChange: another max_wait holds from the next enqueue on and
// redoes nothing.
func TestMaxWaitIsNoChange(t *testing.T) {
	b := newBench(t, redisClient(t))
	run := b.enqueue(patient("n", time.Hour), numbered(2), EnqueueOptions{}).Run.ID
	b.want(b.enqueue(patient("n", 90*time.Millisecond), numbered(2), EnqueueOptions{}), tally{known: 2})
	if got := b.begin(Task{Run: run}); got.MaxWait != time.Second { // whole seconds, rounded up
		t.Errorf("begun %+v", got)
	}
}

// afterScript calls then once, after a script has run.
type afterScript struct {
	sha  string
	then func()
	once sync.Once
}

func (h *afterScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *afterScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *afterScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); len(args) > 1 && err == nil && args[1] == h.sha {
			h.once.Do(h.then)
		}
		return err
	}
}

// TestExpireSeesTheDeadlinePutOff: rows that have ended name the deadline that ended
// them, in the run's zone; those that had not yet stay open when it is put off.
func TestExpireSeesTheDeadlinePutOff(t *testing.T) {
	b := newBench(t, redisClient(t))
	spec := named("n")
	first := time.Date(2030, 12, 1, 6, 0, 0, 0, time.UTC)
	spec.Steer = Steering{Deadline: first, Clocks: "Europe/Berlin"}
	run := b.enqueue(spec, numbered(300), EnqueueOptions{}).Run.ID
	b.rdb.AddHook(&afterScript{sha: finishScript.Hash(), then: func() {
		if _, err := b.Steer(b.ctx, run, func(s *Steering) error { s.Deadline = first.Add(2 * time.Hour); return nil }); err != nil {
			t.Error(err)
		}
	}})
	gone, err := b.Expire(b.ctx, run, first.Add(time.Minute))
	if err != nil || len(gone) != 256 {
		t.Fatalf("%d rows ended (%v), want the 256 of the first step", len(gone), err)
	}
	if c := b.balanced(run); c[Expired] != 256 || c[Queued] != 44 {
		t.Errorf("rows are %v", c)
	}
	again, err := b.Expire(b.ctx, run, first.Add(3*time.Hour))
	if err != nil || len(again) != 44 {
		t.Fatalf("%d rows ended at the second (%v)", len(again), err)
	}
	for i, want := range map[int64]string{gone[0].Index: "2030-12-01 07:00 CET", again[0].Index: "2030-12-01 09:00 CET"} {
		if e := b.row(run, fmt.Sprint("r", i)).Result.Error; e == nil || !strings.HasSuffix(e.Message, "the run's deadline, "+want) {
			t.Errorf("row %d: %+v, want %s", i, e, want)
		}
	}
}
