package jobs

import (
	"fmt"
	"testing"
	"time"
)

// TestEndedWaits: what rows waited is told once, with what their runs count as, and adds
// up to what their results say, whoever ends them: a worker, its spool, or the one that
// ends rows that waited too long.
func TestEndedWaits(t *testing.T) {
	t.Parallel()
	b, clock := newClockedBench(t)
	var told []EndedWaits
	b.opts.Waited = func(w EndedWaits) { told = append(told, w) }
	b.opts.Now, b.now = func() time.Time { return clock.now }, func() time.Time { return clock.now }
	spec := patient("n", time.Hour)
	spec.Feature = "tags"
	run := b.enqueue(spec, numbered(6), EnqueueOptions{}).Run.ID
	for i := range int64(4) {
		task := Task{Run: run, Index: i}
		clock.pass(time.Duration(i+1) * 1250 * time.Millisecond)
		waits := b.begin(task).Waits
		b.put(b.Wait(b.ctx, task, WaitQuota, waits))
		clock.pass(7 * time.Second)
		waits = b.begin(task).Waits
		r := Result{Row: fmt.Sprintf("r%d", i), Status: "done", Output: "x", WaitedMS: waits.Total().Milliseconds(), WaitsMS: waits.Millis()}
		if i == 3 {
			r.Status = "cached" // its waits are those of the row that it took the answer of
		}
		for range 2 { // the second time it has its end
			if _, err := b.Finish(b.ctx, task, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock.pass(2 * time.Hour)
	if gone, err := b.Expire(b.ctx, run, clock.now); err != nil || len(gone) != 2 {
		t.Fatalf("%v, %v", gone, err)
	}
	var sum EndedWaits
	for _, w := range told {
		if w.Lane != spec.Lane || w.Class != spec.Class || w.Feature != "tags" {
			t.Errorf("told of %s, %s, %s", w.Lane, w.Class, w.Feature)
		}
		sum.Rows += w.Rows
		for i, d := range w.Waits {
			sum.Waits[i] += d
		}
	}
	var want int64
	for _, id := range []string{"r0", "r1", "r2", "r4", "r5"} {
		r := b.row(run, id).Result
		want += r.WaitedMS
		var causes int64
		for _, ms := range r.WaitsMS {
			causes += ms
		}
		if r.WaitedMS == 0 || causes != r.WaitedMS {
			t.Errorf("%s waited %d ms, by cause %d", id, r.WaitedMS, causes)
		}
	}
	if sum.Rows != 5 || sum.Waits.Total().Milliseconds() != want || sum.Waits[WaitQuota] != 21*time.Second {
		t.Errorf("told %+v of %d rows; their results have %d ms", sum.Waits, sum.Rows, want)
	}
}
