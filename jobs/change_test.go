package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestChangeIsSeenAndKept: a change says what was, is told to workers and to the
// brake, alters nothing that makes an answer, and outlives another enqueue that
// does not give the setting.
func TestChangeIsSeenAndKept(t *testing.T) {
	b := newBench(t, redisClient(t))
	spec := named("n")
	spec.Attempts = 5
	run := b.enqueue(spec, numbered(2), EnqueueOptions{}).Run
	was, now, err := b.Change(b.ctx, run.ID, SetBy{By: "ann"}, []string{SetAttempts, SetHalt}, func(s *Spec) error {
		s.Attempts, s.Halt, s.Model = 2, "off", "another"
		return nil
	})
	if err != nil || was.Spec.Attempts != 5 || now.Spec.Attempts != 2 || now.Spec.Model != run.Spec.Model || now.Rows != 2 {
		t.Fatalf("from %+v to %+v (%v)", was.Spec, now.Spec, err)
	}
	if begun := b.begin(Task{Run: run.ID}); begun.Digest == run.Stamp() || begun.Digest != now.Stamp() {
		t.Errorf("workers go by %q, want %q", begun.Digest, now.Stamp())
	}
	if halt, _ := b.rdb.HGet(b.ctx, runKey(run.ID), "halt").Result(); halt != "0 0 0" {
		t.Errorf("the brake goes by %q", halt)
	}
	again := b.enqueue(spec, numbered(2), EnqueueOptions{}).Run
	if by := again.Set[SetAttempts]; again.Spec.Attempts != 2 || again.Spec.Halt != "off" || by.By != "ann" || by.At.IsZero() {
		t.Errorf("enqueued again: %+v, set %+v", again.Spec, again.Set)
	}
	spec.Given, spec.Attempts = []string{SetAttempts}, 7
	if given := b.enqueue(spec, numbered(2), EnqueueOptions{}).Run; given.Spec.Attempts != 7 || !given.Set[SetAttempts].Flag || given.Spec.Halt != "off" {
		t.Errorf("given again: %+v, set %+v", given.Spec, given.Set)
	}
}

// TestEnqueueAgainKeepsTheRestOfTheSteering: what is given holds, all else stays.
func TestEnqueueAgainKeepsTheRestOfTheSteering(t *testing.T) {
	b := newBench(t, redisClient(t))
	at := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	spec := named("n")
	spec.Steer = Steering{Window: "22:00-07:00@100%, else @10%", Zone: "Asia/Tokyo", Deadline: at, OnLate: LateContinue, Weight: 2}
	b.enqueue(spec, numbered(2), EnqueueOptions{})
	spec.Steer = Steering{Weight: 3, MaxCost: 7}
	want := Steering{Window: "22:00-07:00@100%, else @10%", Zone: "Asia/Tokyo", Deadline: at, OnLate: LateContinue, Weight: 3, MaxCost: 7}
	if got := b.enqueue(spec, numbered(2), EnqueueOptions{}).Run.Spec.Steer; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestChangeRefusesWhatMeansNothing(t *testing.T) {
	b := newBench(t, redisClient(t))
	run := b.enqueue(named("n"), numbered(1), EnqueueOptions{}).Run.ID
	for want, change := range map[string]func(*Steering){
		"no deadline to be late for": func(s *Steering) { s.OnLate = LateStop },
		"want stop, continue or":     func(s *Steering) { s.OnLate, s.Deadline = "sulk", time.Now() },
		"want 1 to 1000":             func(s *Steering) { s.Weight = 2000 },
		"must be above zero":         func(s *Steering) { s.MaxCost = -1 },
	} {
		_, err := b.Steer(b.ctx, run, func(s *Steering) error { change(s); return nil })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if r, _ := b.Load(b.ctx, run); r.Spec.Steer != (Steering{}) || r.Changes != 0 {
		t.Errorf("it has changed all the same: %+v", r.Spec.Steer)
	}
}

// TestWatched: a run is looked after from when something asks for it.
func TestWatched(t *testing.T) {
	b := newBench(t, redisClient(t))
	spec := named("n")
	run := b.enqueue(spec, numbered(1), EnqueueOptions{}).Run.ID
	is := func(want ...string) {
		t.Helper()
		if got, err := b.Watched(b.ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("watched %q (%v), want %q", got, err, want)
		}
	}
	is()
	if _, err := b.Steer(b.ctx, run, func(s *Steering) error { s.Weight = 2; return nil }); err != nil {
		t.Fatal(err)
	}
	is(run)
	if err := b.Unwatch(b.ctx, run); err != nil {
		t.Fatal(err)
	}
	is()
	if _, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil {
		t.Fatal(err)
	}
	is(run)
	if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	is()
}

// TestClaimedComesBeforeTheRows: what bounds a run is in force before one of its
// rows can begin, and nothing is enqueued when it cannot be.
func TestClaimedComesBeforeTheRows(t *testing.T) {
	b := newBench(t, redisClient(t))
	p, refused := b.prepare(named("n"), numbered(3)), errors.New("no")
	var seen Run
	_, err := b.Enqueue(b.ctx, p, EnqueueOptions{Claimed: func(_ context.Context, r Run) error { seen = r; return refused }})
	if !errors.Is(err, refused) || seen.ID == "" || b.pending(queueOf(p.Spec)) != 0 {
		t.Errorf("%v of run %q, %d tasks", err, seen.ID, b.pending(queueOf(p.Spec)))
	}
}

// TestDeadlineEndsOpenRows: at the deadline all open rows end, whatever they wait
// for; calls in flight end by themselves, and rows that would begin do not.
func TestDeadlineEndsOpenRows(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		now := time.Now()
		spec := named("n")
		spec.Steer.Deadline = now.Add(time.Hour)
		r := b.enqueue(spec, numbered(4), EnqueueOptions{})
		run := r.Run.ID
		if begun := b.begin(Task{Run: run, Index: 1}); begun.Late != 0 {
			t.Errorf("an hour before it is late by %v", begun.Late)
		}
		b.end(ended(Task{Run: run, Index: 2}, Done, "in time"))
		if gone, err := b.Expire(b.ctx, run, now.Add(59*time.Minute)); err != nil || len(gone) != 0 {
			t.Errorf("before it: %v (%v)", gone, err)
		}
		gone, err := b.Expire(b.ctx, run, now.Add(61*time.Minute))
		if err != nil || len(gone) != 2 || gone[0].Index != 0 || gone[1].Index != 3 {
			t.Errorf("%v have ended (%v)", gone, err)
		}
		if c := b.balanced(run); c[Expired] != 2 || c[Running] != 1 || c[Done] != 1 {
			t.Errorf("rows are %v", c)
		}
		row := b.row(run, "r3")
		if e := row.Result.Error; e == nil || e.Cause != CauseDeadline || !strings.Contains(e.Message, "not done by the run's deadline") {
			t.Errorf("the error is %+v", e)
		}
		if n, err := b.Missed(b.ctx, run); err != nil || n != 2 {
			t.Errorf("%d missed (%v)", n, err)
		}
		if n, err := b.Retry(b.ctx, run, RetryFilter{Causes: []string{CauseDeadline}}); err != nil || n != 2 {
			t.Errorf("retried %d (%v)", n, err)
		}
		if n, err := b.Missed(b.ctx, run); err != nil || n != 0 {
			t.Errorf("%d missed after the retry (%v)", n, err)
		}
	})
}

// TestBeginAfterTheDeadline: Redis's clock says it, unless the run goes on.
func TestBeginAfterTheDeadline(t *testing.T) {
	virtual(t, func(t *testing.T, b *bench) {
		spec := named("n")
		spec.Steer.Deadline = time.Now().Add(time.Minute)
		run := b.enqueue(spec, numbered(2), EnqueueOptions{}).Run.ID
		later(61 * time.Second)
		if begun := b.begin(Task{Run: run}); begun.Late != time.Second {
			t.Errorf("late by %v, want 1 s", begun.Late)
		} else if !begun.Stop.Equal(spec.Steer.Deadline) {
			t.Errorf("the deadline was %v, want %v", begun.Stop, spec.Steer.Deadline)
		}
		if _, err := b.Steer(b.ctx, run, func(s *Steering) error { s.OnLate = LateContinue; return nil }); err != nil {
			t.Fatal(err)
		}
		if begun := b.begin(Task{Run: run, Index: 1}); begun.Late != 0 {
			t.Errorf("it goes on, and is late by %v", begun.Late)
		}
		if gone, err := b.Expire(b.ctx, run, time.Now()); err != nil || len(gone) != 0 {
			t.Errorf("it goes on, and %v have ended (%v)", gone, err)
		}
	})
}
