package scheduler

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const testLane = "gemini/test/global/m"

// enqueued makes a run of three rows.
func enqueued(t *testing.T, store *jobs.Store) jobs.Run {
	t.Helper()
	return enqueuedAs(t, store, "")
}

func enqueuedAs(t *testing.T, store *jobs.Store, name string) jobs.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte("id,word\na,x\nb,y\nc,z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := jobs.Spec{Kind: jobs.Generate, Model: "m", Lane: testLane, Template: "{{.word}}", Feature: "test", Class: "bulk", Priority: jobs.Normal, IDColumn: "id", Name: name}
	p, err := jobs.Prepare(t.Context(), jobs.Input{Path: path}, spec, jobs.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	report, err := store.Enqueue(t.Context(), p, jobs.EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report.Run
}

// lose deletes a row's task, as a click in asynqmon does.
func lose(t *testing.T, rdb redis.UniversalClient, run jobs.Run, index int64) {
	t.Helper()
	if err := asynq.NewInspectorFromRedisClient(rdb).DeleteTask(jobs.Queue(jobs.Normal, testLane), jobs.Task{Run: run.ID, Index: index}.ID()); err != nil {
		t.Fatal(err)
	}
}

// TestSweepMendsOpenRuns: a row whose task was deleted gets it back; a run that
// has ended is not looked at.
func TestSweepMendsOpenRuns(t *testing.T) {
	rdb := realRedis(t)
	store := jobs.NewStore(rdb, jobs.StoreOptions{})
	run := enqueued(t, store)
	lose(t, rdb, run, 1)
	young := &Sweeper{Redis: rdb, Store: store}
	if r, err := young.Sweep(t.Context()); err != nil || r.Runs != 0 {
		t.Errorf("sweep of a run that may still be written: %+v, err %v, want it left alone", r, err)
	}
	s := &Sweeper{Redis: rdb, Store: store, Young: -1}
	r, err := s.Sweep(t.Context())
	if err != nil || r.Runs != 1 || r.Recreated != 1 || r.Mended() != 1 {
		t.Errorf("first sweep: %+v, err %v, want one task made again", r, err)
	}
	if _, err := store.Cancel(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Sweep(t.Context()); err != nil || r.Runs != 0 || r.Mended() != 0 {
		t.Errorf("after the end: %+v, err %v, want nothing to do", r, err)
	}
}

// TestOneSweeps: of two processes one sweeps, at once; when it goes the other
// takes over.
func TestOneSweeps(t *testing.T) {
	rdb := realRedis(t)
	store := jobs.NewStore(rdb, jobs.StoreOptions{})
	run := enqueued(t, store)
	queue := func() int64 {
		return rdb.LLen(t.Context(), "asynq:{"+jobs.Queue(jobs.Normal, testLane)+"}:pending").Val()
	}
	until := func(what string) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for limit := time.Now().Add(10 * time.Second); queue() != 3; <-tick.C {
			if time.Now().After(limit) {
				t.Fatal(what)
			}
		}
	}
	var all sync.WaitGroup
	defer all.Wait()
	first, leave := context.WithCancel(t.Context())
	second, end := context.WithCancel(t.Context())
	defer end()
	defer leave()
	lose(t, rdb, run, 0)
	all.Go(func() { (&Sweeper{Redis: rdb, Store: store, Owner: "a", Young: -1}).Run(first) })
	until("nothing was mended at the start")
	all.Go(func() { (&Sweeper{Redis: rdb, Store: store, Owner: "b", Young: -1}).Run(second) })
	lose(t, rdb, run, 2)
	leave()
	until("the standby did not take over within ten seconds")
}
