package jobs

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// brakeBench ends a run's rows one after another and keeps what the brake said.
type brakeBench struct {
	*bench
	run  string
	mu   sync.Mutex
	said []Braked
}

func newBrakeBench(t *testing.T, rdb redis.UniversalClient, halt string, rows int) *brakeBench {
	t.Helper()
	b := &brakeBench{bench: newBench(t, rdb)}
	b.opts.Braked = func(_ context.Context, said Braked) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.said = append(b.said, said)
	}
	spec := named("n")
	spec.Halt = halt
	b.run = b.enqueue(spec, numbered(rows), EnqueueOptions{}).Run.ID
	return b
}

// end gives row n an end: "done", or a state and a cause.
func (b *brakeBench) end(n int64, status, cause string) {
	b.t.Helper()
	res := Result{Row: fmt.Sprintf("r%d", n), Status: status}
	if cause != "" {
		res.Error = &RowError{Cause: cause, Message: "because " + cause + "."}
	}
	if ok, err := b.Finish(b.ctx, Task{Run: b.run, Index: n}, res); err != nil || !ok {
		b.t.Fatalf("row %d: kept %v, err %v", n, ok, err)
	}
}

func (b *brakeBench) trips() bool {
	b.t.Helper()
	_, tripped, err := b.Brake(b.ctx, b.run)
	if err != nil {
		b.t.Fatal(err)
	}
	return tripped
}

// TestBrakeSame: the default stops a run at the 50th row that ends for one cause
// with no good one between, and says so once as news.
func TestBrakeSame(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBrakeBench(t, rdb, "", 200)
		n := int64(0)
		bad := func(times int, status, cause string) {
			for range times {
				b.end(n, status, cause)
				n++
			}
		}
		bad(49, "failed", "schema")
		bad(30, "blocked", "safety") // another cause between is none of it
		bad(60, "expired", "max_wait")
		if b.trips() {
			t.Fatal("tripped at 49 of one cause")
		}
		b.end(n, "done", "")
		n++
		bad(49, "failed", "schema")
		if b.trips() {
			t.Fatal("a good row did not begin the count anew")
		}
		if b.Finish(b.ctx, Task{Run: b.run, Index: n - 1}, Result{Status: "failed", Error: &RowError{Cause: "schema"}}); b.trips() {
			t.Fatal("a row counted twice")
		}
		bad(1, "failed", "schema")
		said, tripped, err := b.Brake(b.ctx, b.run)
		if err != nil || !tripped || said.Rule != "same" || said.Bad != 50 || said.Cause != "schema" || said.Row != fmt.Sprintf("r%d", n-1) {
			t.Fatalf("tripped %v: %+v (%v)", tripped, said, err)
		}
		want := "50 rows ended for one cause (schema) and no good one between, for example row " + said.Row + ": because schema"
		if said.Sentence() != want {
			t.Errorf("it says %q, want %q", said.Sentence(), want)
		}
		bad(2, "failed", "schema")
		if len(b.said) != 3 || !b.said[0].First || b.said[1].First || b.said[2].First || b.said[0].Row != said.Row {
			t.Errorf("told %+v", b.said)
		}
	})
}

// TestBrakeShare: more than the share of the last rows, in whatever order and for
// whatever cause; what is not the run's fault does not count.
func TestBrakeShare(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBrakeBench(t, rdb, "fail=20%/20", 100)
		n := int64(0)
		for range 10 { // one in five, for a long time
			for _, status := range []string{"failed", "done", "cached", "done", "done"} {
				b.end(n, status, fmt.Sprintf("cause%d", n))
				n++
			}
		}
		if b.trips() {
			t.Fatal("tripped at 20 %")
		}
		b.end(n, "truncated", "max_tokens") // of the 20 before it one bad row leaves the window
		if b.trips() {
			t.Fatal("tripped at 4 of 20")
		}
		b.end(n+1, "blocked", "safety")
		if said, tripped, _ := b.Brake(b.ctx, b.run); !tripped || said.Rule != "fail" || said.Bad != 5 || said.Of != 20 {
			t.Errorf("tripped %v: %+v", tripped, said)
		} else if !strings.Contains(said.Sentence(), "5 of the last 20 rows have no good answer (brake fail=20%/20)") {
			t.Errorf("it says %q", said.Sentence())
		}
	})
}

// TestBrakeEarly: once more bad rows have ended than the share of a whole window,
// nothing that comes can make them fewer.
func TestBrakeEarly(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBrakeBench(t, rdb, "fail=20%/200,same=1000", 60)
		for n := range int64(40) {
			b.end(n, "failed", "schema")
		}
		if b.trips() {
			t.Fatal("tripped at 40 of 200")
		}
		b.end(40, "failed", "schema")
		if !b.trips() {
			t.Error("did not trip at 41 of 200")
		}
	})
}

func TestBrakeOff(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBrakeBench(t, rdb, "off", 80)
		for n := range int64(80) {
			b.end(n, "failed", "schema")
		}
		if b.trips() || len(b.said) > 0 {
			t.Errorf("a brake that is off said %+v", b.said)
		}
	})
}

// TestBrakeReleased: a run that was resumed is counted anew.
func TestBrakeReleased(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		c := newBrakeBench(t, rdb, "same=3", 7)
		c.mustRelease()
		for n := range int64(3) {
			c.end(n, "failed", "schema")
		}
		c.mustRelease()
		if c.trips() {
			t.Error("a released brake still holds")
		}
		c.end(3, "failed", "schema")
		c.end(4, "failed", "schema")
		if c.trips() {
			t.Error("the count went on where it was")
		}
		c.end(5, "failed", "schema")
		if !c.trips() {
			t.Error("a released brake does not trip again")
		}
	})
}

func (b *brakeBench) mustRelease() {
	b.t.Helper()
	if err := b.ReleaseBrake(b.ctx, b.run); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrakeOfManyWorkers: ends of three workers at the same time count together,
// and one of them alone is told that it is news.
func TestBrakeOfManyWorkers(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBrakeBench(t, rdb, "same=40", 60)
		var all sync.WaitGroup
		for w := range int64(3) {
			s := NewStore(rdb, StoreOptions{Braked: b.opts.Braked})
			for i := range int64(20) {
				all.Go(func() {
					res := Result{Status: "failed", Error: &RowError{Cause: "schema"}}
					if _, err := s.Finish(b.ctx, Task{Run: b.run, Index: 20*w + i}, res); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		news := 0
		for _, said := range b.said {
			if said.First {
				news++
			}
			if said.Bad != 40 {
				t.Errorf("it tripped at %d, want 40", said.Bad)
			}
		}
		if news != 1 {
			t.Errorf("%d were told that it tripped just now, want 1", news)
		}
	})
}

// TestDrafts: what earlier calls brought is kept for the row's own generation and
// forgotten with its end.
func TestDrafts(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(2), EnqueueOptions{}).Run.ID
		task := Task{Run: run, Index: 1}
		get := func(task Task) Draft {
			t.Helper()
			d, err := b.Draft(b.ctx, task)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := get(task); d.Extra != 0 || d.Usage != nil {
			t.Errorf("a row that nothing is kept of has %+v", d)
		}
		cost := int64(7)
		want := Draft{Tries: map[string]int{"schema": 1}, Extra: 1, Raw: "a\n\"b", Token: []byte{0, 255}, Usage: &Usage{Prompt: 3, Total: 3}, MicroUSD: &cost}
		if err := b.SaveDraft(b.ctx, task, want); err != nil {
			t.Fatal(err)
		}
		if d := get(task); encoded(d) != encoded(want) {
			t.Errorf("kept %s, want %s", encoded(d), encoded(want))
		}
		for _, other := range []Task{{run, 1, 1}, {run, 0, 0}} {
			if d := get(other); d.Extra != 0 {
				t.Errorf("%v has the draft of another: %+v", other, d)
			}
		}
		if err := b.DropDraft(b.ctx, task); err != nil {
			t.Fatal(err)
		}
		if d := get(task); d.Extra != 0 {
			t.Error("a dropped draft is still there")
		}
		if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		if keys, err := rdb.Keys(b.ctx, "*"+run+"*").Result(); err != nil || len(keys) != 0 {
			t.Errorf("a purge leaves %v (%v)", keys, err)
		}
	})
}
