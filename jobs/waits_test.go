package jobs

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// TestWaits follows one row through its waits on a clock of the test's: what it
// waits for is added up by cause, and nothing of it stays in Redis when it ends.
func TestWaits(t *testing.T) {
	t.Parallel()
	b, clock := newClockedBench(t)
	run := b.enqueue(patient("n", 0), numbered(2), EnqueueOptions{}).Run.ID
	task := Task{Run: run, Index: 1}

	clock.pass(7 * time.Second)
	waited := b.begin(task).Waits
	want(t, waited, Waits{WaitQueue: 7 * time.Second})

	b.put(b.Wait(b.ctx, task, WaitTurn, waited))
	clock.pass(90*time.Second + 250*time.Millisecond)
	row, err := b.RowWait(b.ctx, Run{ID: run}, task)
	if err != nil || row.For != WaitTurn || row.Waits.Total() != 97*time.Second+250*time.Millisecond {
		t.Errorf("the row waits %+v (%v)", row, err)
	}
	waited = b.begin(task).Waits
	b.put(b.Wait(b.ctx, task, WaitQuota, waited))
	clock.pass(time.Hour)
	waited = b.begin(task).Waits
	want(t, waited, Waits{WaitQueue: 7 * time.Second, WaitTurn: 90*time.Second + 250*time.Millisecond, WaitQuota: time.Hour})

	clock.pass(20 * time.Second) // a call that fails: no wait
	b.put(b.RetryWait(b.ctx, task, waited))
	clock.pass(4 * time.Second)
	b.begin(task)
	clock.pass(time.Minute) // its worker dies: nobody's minute, and the four seconds with it
	waited = b.begin(task).Waits
	want(t, waited, Waits{WaitQueue: 71 * time.Second, WaitTurn: 90*time.Second + 250*time.Millisecond, WaitQuota: time.Hour})

	if _, err := b.Finish(b.ctx, task, Result{Row: "r1", Status: "done", Output: "x", WaitsMS: waited.Millis()}); err != nil {
		t.Fatal(err)
	}
	if got := b.row(run, "r1").Result.WaitsMS; !reflect.DeepEqual(got, map[string]int64{"queue": 71_000, "turn": 90_250, "quota": 3_600_000}) {
		t.Errorf("the result has %v", got)
	}
	b.begin(Task{Run: run})
	b.put(b.Wait(b.ctx, Task{Run: run}, WaitWindow, Waits{}))
	if sum, err := b.Waits(b.ctx, run); err != nil || sum != waited {
		t.Errorf("the run waited %v (%v)", sum, err)
	}
	if _, err := b.Cancel(b.ctx, run); err != nil {
		t.Fatal(err)
	}
	if keys := b.rdb.Keys(b.ctx, runPrefix(run)+"wait:*").Val(); len(keys) != 0 {
		t.Errorf("left: %v", keys)
	}
	if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if keys := b.rdb.Keys(b.ctx, runPrefix(run)+"*").Val(); len(keys) != 0 {
		t.Errorf("left: %v", keys)
	}
}

// redisClock is the embedded Redis's, which stands until it is told to pass.
type redisClock struct {
	mr  *miniredis.Miniredis
	now time.Time
}

func newClockedBench(t *testing.T) (*bench, *redisClock) {
	t.Helper()
	mr := miniredis.RunT(t)
	c := &redisClock{mr, time.Date(2026, 11, 30, 1, 30, 0, 0, time.UTC)}
	mr.SetTime(c.now)
	rdb := redis.NewClient(&redis.Options{Addr: mr.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	return newBench(t, rdb), c
}

func (c *redisClock) pass(d time.Duration) {
	c.now = c.now.Add(d)
	c.mr.SetTime(c.now)
}

func (b *bench) put(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func want(t *testing.T, got, want Waits) {
	t.Helper()
	if got != want {
		t.Errorf("waited %v, want %v", got, want)
	}
}

// TestWaitsRecord: what cannot be read is nothing, and a clock that went back
// takes nothing away.
func TestWaitsRecord(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_764_509_000_000)
	for record, total := range map[string]time.Duration{
		"": 0, "o1764508999000": time.Second, "o1764509999000 t200": 200 * time.Millisecond, "x17 t-5 zz9 t40": 40 * time.Millisecond,
		"o q": 0, "o17645089990x0 q1": time.Millisecond,
	} {
		var w Waits
		w.noted(record, now)
		if w.Total() != total {
			t.Errorf("%q is %v, want %v", record, w.Total(), total)
		}
	}
	w := Waits{WaitTurn: time.Second, WaitErrors: 1500 * time.Microsecond, WaitSpend: time.Microsecond}
	if got := w.encode(); got != " t1000 e1" {
		t.Errorf("written as %q", got)
	}
	if len(waitCodes) != NumWaits || strings.Contains(waitCodes, " ") {
		t.Error("a cause without a letter")
	}
}

// TestWaitsBothRedis: the scripts say the same on Redis itself.
func TestWaitsBothRedis(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(patient("n", 0), numbered(1), EnqueueOptions{}).Run.ID
		task := Task{Run: run}
		b.begin(task)
		b.put(b.Wait(b.ctx, task, WaitSpend, Waits{WaitQuota: 2 * time.Second}))
		got := b.begin(task).Waits
		if got[WaitQuota] != 2*time.Second || got[WaitSpend] < 0 || got[WaitSpend] > time.Minute || got[WaitQueue] != 0 {
			t.Errorf("waited %v", got)
		}
	})
}

// TestWaitsUpto: causes add up to what was waited, to the millisecond.
func TestWaitsUpto(t *testing.T) {
	t.Parallel()
	for all, want := range map[time.Duration]map[string]int64{
		490 * time.Millisecond:      {"queue": 490},
		490*time.Millisecond + 1500: {"queue": 490},
	} {
		if got := (Waits{}).Upto(all).Millis(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", all, got)
		}
	}
	w := Waits{WaitQuota: 1200*time.Microsecond + 2*time.Second, WaitTurn: 900 * time.Microsecond}
	if got := w.Upto(2500 * time.Millisecond).Millis(); !reflect.DeepEqual(got, map[string]int64{"quota": 2001, "queue": 499}) {
		t.Errorf("%v", got)
	}
}
