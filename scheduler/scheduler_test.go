package scheduler

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
)

// eventually waits for something that other goroutines bring about in real time.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !is(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// TestSchedulerDoesItAll: the leader watches, keeps windows, mirrors what people
// do in asynqmon, keeps the counters, sweeps, and runs what else it is given; when
// it is stopped all of that ends.
func TestSchedulerDoesItAll(t *testing.T) {
	r := newRig(t, realRedis(t))
	run := enqueued(t, r.store)
	lose(t, r.rdb, run, 1)
	r.must(r.rdb.Set(t.Context(), pausedKey("bulk-low.test.m"), time.Now().Unix(), 0).Err())
	closed, err := ParseWindow("windows.evaluation", "00:00-24:00@0%, else @0%", time.UTC)
	r.must(err)
	also := make(chan string, 2)
	meter := MeterSource{Redis: r.rdb, Scope: testScope}
	s := &Scheduler{
		Control:   r.c,
		Monitor:   &Monitor{Control: r.c, Source: meter, Owner: "a"},
		Windows:   &Windows{Control: r.c, Of: map[string]Window{"evaluation": closed}, Owner: "a"},
		Sweeper:   &Sweeper{Redis: r.rdb, Store: r.store, Owner: "a", Young: -1},
		Snapshots: &Snapshots{Control: r.c, Dir: t.TempDir()},
		Bypass:    &BypassWatch{Control: r.c, Source: meter, Owner: "a"},
		Also: []func(context.Context){func(ctx context.Context) {
			also <- "begun"
			<-ctx.Done()
			also <- "ended"
		}},
		Owner: "a",
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if got := <-also; got != "begun" {
		t.Error(got)
	}
	want := []string{"evaluation/window/a", "bulk-low.test.m/operator/asynqmon"}
	eventually(t, "the window is not kept, or asynqmon's pause not mirrored", func() bool {
		got := r.pauses()
		slices.Sort(got)
		slices.Sort(want)
		return slices.Equal(got, want)
	})
	eventually(t, "the lost task was not made again", func() bool {
		return r.rdb.LLen(t.Context(), "asynq:{"+jobs.Queue(jobs.Normal, testLane)+"}:pending").Val() == 3
	})
	eventually(t, "the counters were not kept", func() bool {
		_, err := os.Stat(s.Snapshots.path())
		return err == nil
	})
	eventually(t, "the leader does not show", func() bool {
		st, err := r.c.Status(t.Context())
		return err == nil && st.Leader != nil && st.Phrase() == "healthy"
	})
	stop()
	all.Wait()
	if got := <-also; got != "ended" {
		t.Error(got)
	}
	if members, err := r.c.Members(t.Context()); err != nil || len(members) != 0 {
		t.Errorf("members %+v, err %v after the end", members, err)
	}
}

// TestSchedulerProblems: a wrong setting is an error before anything is led.
func TestSchedulerProblems(t *testing.T) {
	c := &Control{Classes: testClasses}
	for field, s := range map[string]*Scheduler{
		"owner":        {Control: c},
		"health.p95":   {Control: c, Owner: "a", Monitor: &Monitor{Control: c, Watch: Watch{Thresholds: Thresholds{P95: -1}}}},
		"windows.chat": {Control: c, Owner: "a", Windows: &Windows{Control: c, Of: map[string]Window{"chat": {}}}},
	} {
		var e *ConfigError
		if err := s.Run(t.Context()); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
