package jobs

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"
)

// TestWaitsOfAClosedRun: a row in line was told of quota, its run was closed for an
// hour meanwhile, and nobody looked at the row again before its turn: the hour is the
// window's, for the row, for those who ask, and when it runs out of time.
func TestWaitsOfAClosedRun(t *testing.T) {
	t.Parallel()
	b, clock := newClockedBench(t)
	begin, asked, broken := clock.now, 0, errors.New("away")
	b.Store = NewStore(b.rdb, StoreOptions{Now: func() time.Time { return clock.now }, Closed: func(context.Context, Run) ([]Stretch, error) {
		if asked++; clock.now.Equal(begin.Add(time.Minute)) {
			return nil, broken
		}
		return []Stretch{{WaitWindow, begin.Add(2 * time.Hour), begin.Add(3 * time.Hour)}}, nil
	}})
	run := b.enqueue(patient("n", 4*time.Hour), numbered(3), EnqueueOptions{}).Run
	blamed := func(n int64) Waits {
		got := b.begin(Task{Run: run.ID, Index: n})
		b.Blame(b.ctx, run, &got)
		return got.Waits
	}
	clock.pass(time.Minute)
	for n := range int64(2) {
		b.put(b.Wait(b.ctx, Task{Run: run.ID, Index: n}, WaitQuota, blamed(n))) // as told: nobody knows better
	}
	if asked != 1 {
		t.Errorf("asked %d times for two rows of one moment", asked)
	}
	clock.pass(9*time.Hour/2 - time.Minute)
	want(t, blamed(0), Waits{WaitQueue: time.Minute, WaitQuota: 3*time.Hour + 29*time.Minute, WaitWindow: time.Hour})
	if w, err := b.RowWait(b.ctx, run, Task{Run: run.ID, Index: 1}); err != nil || w.Waits[WaitWindow] != time.Hour || w.Waits.Total() != 9*time.Hour/2 || w.For != WaitQuota {
		t.Errorf("the row waits %+v (%v)", w, err)
	}
	if gone, err := b.Expire(b.ctx, run.ID, clock.now); err != nil || len(gone) != 2 {
		t.Fatalf("%v have expired (%v)", gone, err)
	}
	for row, want := range map[string]map[string]int64{
		"r1": {"queue": 60_000, "quota": 12_540_000, "window": 3_600_000},
		"r2": {"queue": 12_600_000, "window": 3_600_000}, // nobody had looked at it
	} {
		if got := b.row(run.ID, row).Result; !reflect.DeepEqual(got.WaitsMS, want) || got.WaitedMS != 16_200_000 {
			t.Errorf("%s waited %v of %d ms; want %v", row, got.WaitsMS, got.WaitedMS, want)
		}
	}
	if sum, err := b.Waits(b.ctx, run.ID); err != nil || sum[WaitWindow] != 2*time.Hour || sum.Total() != 9*time.Hour {
		t.Errorf("the run waited %v (%v)", sum, err)
	}
}
