package jobs

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestLastEnd: the row that ended last is found, whatever its place in the input.
func TestLastEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(3), EnqueueOptions{}).Run.ID
		last := func() (Result, bool) {
			t.Helper()
			r, found, err := b.LastEnd(b.ctx, run)
			if err != nil {
				t.Fatal(err)
			}
			return r, found
		}
		if r, found := last(); found {
			t.Errorf("nothing has ended, and there is %+v", r)
		}
		for i, index := range []int64{2, 0, 1} {
			task := Task{Run: run, Index: index}
			b.begin(task)
			at := time.Date(2026, 12, 1, 6, i, 0, 0, time.UTC)
			if ok, err := b.Finish(b.ctx, task, Result{Row: "r", Status: Done.String(), Output: "out", Finished: at}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if r, found := last(); !found || r.Index != index || !r.Finished.Equal(at) {
				t.Errorf("%+v, %v, want row %d at %v", r, found, index, at)
			}
		}
	})
}
