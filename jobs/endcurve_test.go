package jobs

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestEndCurve: however few points are asked for, the last is the last row that ended,
// and each says how many had ended by then.
func TestEndCurve(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(12), EnqueueOptions{}).Run.ID
		if got, err := b.EndCurve(b.ctx, run, 5); err != nil || len(got) != 0 {
			t.Fatalf("nothing has ended, and there is %v, %v", got, err)
		}
		begin := time.Date(2026, 12, 1, 6, 0, 0, 0, time.UTC)
		for i := range 10 { // from the input's end to its beginning
			task := Task{Run: run, Index: int64(11 - i)}
			b.begin(task)
			state := Done
			if i%5 == 1 { // the second and the seventh
				state = Blocked
			}
			if ok, err := b.Finish(b.ctx, task, Result{Row: "r", Status: state.String(), Output: "out", Finished: begin.Add(time.Duration(i+1) * time.Minute)}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for points, want := range map[int][]int64{1: {10}, 2: {5, 10}, 5: {2, 4, 6, 8, 10}, 100: {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}} {
			got, err := b.EndCurve(b.ctx, run, points)
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d points: %v, %v", points, got, err)
			}
			for i, p := range got {
				if p.Ended != want[i] || !p.At.Equal(begin.Add(time.Duration(want[i])*time.Minute)) {
					t.Errorf("%d points: %+v, want %d", points, p, want[i])
				}
				if blocked := (want[i] + 3) / 5; p.By[Blocked] != blocked || p.By[Done] != want[i]-blocked || p.By.Total() != want[i] {
					t.Errorf("%d points: of %d are %v", points, want[i], p.By)
				}
			}
		}
		if _, err := b.Cancel(b.ctx, run); err != nil {
			t.Fatal(err)
		}
		if got, err := b.EndCurve(b.ctx, run, 1); err != nil || len(got) != 1 || got[0].Ended != 10 {
			t.Errorf("rows without a call count: %v, %v", got, err)
		}
	})
}
