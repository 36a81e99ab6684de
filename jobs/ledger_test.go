package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestLifeOfARow(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(3), EnqueueOptions{}).Run.ID
		task := Task{Run: run, Index: 1}
		state := func(want State) {
			t.Helper()
			b.balanced(run)
			if got := b.row(run, "r1").State; got != want {
				t.Fatalf("state %v, want %v", got, want)
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		state(Queued)
		must(b.Wait(b.ctx, task, WaitQuota, Waits{})) // not Running: nothing
		state(Queued)
		b.begin(task)
		state(Running)
		must(b.Wait(b.ctx, task, WaitQuota, Waits{}))
		state(Waiting)
		if got := b.begin(task); got.Outcome != Proceed || got.From != Waiting {
			t.Errorf("begun %+v", got)
		}
		must(b.RetryWait(b.ctx, task, Waits{}))
		state(RetryWait)
		b.begin(task)
		if got := b.begin(task); got.Outcome != Proceed || got.From != Running { // its worker died
			t.Errorf("begun %+v", got)
		}
		if !b.finish(task, Done) || b.finish(task, Done) || b.finish(task, Failed) {
			t.Error("a row must end once")
		}
		state(Done)
		if got := b.begin(task); got.Outcome != OutcomeFinished {
			t.Errorf("begun %+v", got)
		}
		for _, stale := range []Task{{run, 1, 1}, {run, 7, 0}, {run, 99999, 0}, {"norun", 0, 0}} {
			if got := b.begin(stale); got.Outcome != OutcomeStale && got.Outcome != OutcomeFinished {
				t.Errorf("%v: begun %+v", stale, got)
			}
			if b.finish(stale, Done) {
				t.Errorf("%v was finished", stale)
			}
		}
		b.balanced(run)
	})
}

func TestFinishRefusesWhatIsNoEnd(t *testing.T) {
	b := newBench(t, redisClient(t))
	for _, status := range []string{"", "queued", "running", "cancelled", "nonsense"} {
		if _, err := b.Finish(b.ctx, Task{Run: "r"}, Result{Status: status}); err == nil {
			t.Errorf("%q was taken for an end", status)
		}
	}
}

// TestCancel: what is done stays, what is in flight may still bring its answer.
func TestCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(10), EnqueueOptions{})
		run := r.Run.ID
		for i := range int64(6) {
			b.begin(Task{Run: run, Index: i})
			if i < 3 {
				b.finish(Task{Run: run, Index: i}, Done)
			}
		}
		if err := b.Wait(b.ctx, Task{Run: run, Index: 5}, WaitQuota, Waits{}); err != nil {
			t.Fatal(err)
		}
		report, err := b.Cancel(b.ctx, run)
		if err != nil || report != (CancelReport{Cancelled: 7, InFlight: 2, Finished: 3}) {
			t.Errorf("%+v (%v)", report, err)
		}
		if c := b.balanced(run); c[Done] != 3 || c[Cancelled] != 7 {
			t.Errorf("counts %v", c)
		}
		if n := b.pending(r.Queue); n != 5 { // 5 to 9 were deleted; what had begun is not asynq's here
			t.Errorf("%d tasks, want 5", n)
		}
		if got := b.begin(Task{Run: run, Index: 7}); got.Outcome != OutcomeCancelled {
			t.Errorf("begun %+v", got)
		}
		if !b.finish(Task{Run: run, Index: 3}, Done) {
			t.Error("the paid answer of a cancelled row was thrown away")
		}
		if b.finish(Task{Run: run, Index: 4}, Failed) {
			t.Error("a cancelled row became a failed one")
		}
		if _, err := b.Retry(b.ctx, run, RetryFilter{Rows: []string{"r4"}}); err != nil {
			t.Fatal(err)
		}
		if b.finish(Task{Run: run, Index: 4}, Done) {
			t.Error("an answer of the old generation ended the new one")
		}
		if c := b.balanced(run); c[Done] != 4 || c[Cancelled] != 5 || c[Queued] != 1 {
			t.Errorf("counts %v", c)
		}
		again, err := b.Cancel(b.ctx, run)
		if err != nil || again != (CancelReport{Cancelled: 1, Finished: 4, Before: 5}) {
			t.Errorf("again %+v (%v)", again, err)
		}
	})
}

func TestRetry(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(12), EnqueueOptions{})
		run := r.Run.ID
		for i, s := range []State{Done, Failed, Failed, Blocked, Truncated, Cached} {
			task := Task{Run: run, Index: int64(i)}
			b.begin(task)
			cause := "other"
			if i == 2 {
				cause = "schema"
			}
			res := Result{Row: fmt.Sprintf("r%d", i), Status: s.String(), Error: &RowError{Cause: cause}}
			if ok, err := b.Finish(b.ctx, task, res); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		retry := func(f RetryFilter, want int64) {
			t.Helper()
			if n, err := b.Retry(b.ctx, run, f); err != nil || n != want {
				t.Errorf("retried %d (%v), want %d", n, err, want)
			}
			b.balanced(run)
		}
		retry(RetryFilter{Causes: []string{"schema"}}, 1)
		retry(RetryFilter{States: []State{Blocked, Done}}, 1)
		retry(RetryFilter{Rows: []string{"r0", "r4"}}, 1)
		retry(RetryFilter{}, 1)
		retry(RetryFilter{}, 0)
		if got := b.row(run, "r2"); got.State != Queued || got.Gen != 1 || got.Result == nil {
			t.Errorf("retried row %+v", got)
		}
		if n := b.pending(r.Queue); n != 12+4 {
			t.Errorf("%d tasks, want 16", n)
		}
		if got := b.begin(Task{run, 2, 1}); got.Outcome != Proceed || string(got.Fields) != `{"id":"r2","text":"text 2"}` {
			t.Errorf("begun %+v", got)
		}
		if got := b.begin(Task{run, 2, 0}); got.Outcome != OutcomeStale {
			t.Errorf("begun %+v", got)
		}
	})
}

// TestManyFailures: asynq's archive forgets all but 9,999.
func TestManyFailures(t *testing.T) {
	b := newBench(t, redisClient(t))
	b.opts.Batch = 500
	run := b.enqueue(named("n"), numbered(12_000), EnqueueOptions{}).Run.ID
	for i := range int64(12_000) {
		b.begin(Task{Run: run, Index: i})
		b.finish(Task{Run: run, Index: i}, Failed)
	}
	n := 0
	err := b.ResultLines(b.ctx, run, ResultsOptions{States: []State{Failed}}, func([]byte) error { n++; return nil })
	if err != nil || n != 12_000 {
		t.Errorf("%d failures listed (%v)", n, err)
	}
	if k, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil || k != 12_000 {
		t.Errorf("%d retried (%v)", k, err)
	}
	b.balanced(run)
}

// TestHistories makes random moves, from many goroutines' worth of tasks old and
// new, and compares the ledger with a plain map after each.
func TestHistories(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		for seed := range uint64(8) {
			history(t, rdb, seed)
		}
	})
}

type oracle struct {
	state State
	gen   int
}

func (o oracle) begin(gen int) (Outcome, oracle) {
	switch {
	case o.state == Cancelled:
		return OutcomeCancelled, o
	case gen != o.gen:
		return OutcomeStale, o
	case o.state.Terminal():
		return OutcomeFinished, o
	}
	return Proceed, oracle{Running, gen}
}

func (o oracle) finish(gen int, to State) (bool, oracle) {
	if gen == o.gen && !o.state.Terminal() || o.state == Cancelled && gen == o.gen-1 && to.Good() {
		return true, oracle{to, o.gen}
	}
	return false, o
}

func history(t *testing.T, rdb redis.UniversalClient, seed uint64) {
	b := newBench(t, rdb)
	const n = 6
	run := b.enqueue(named(fmt.Sprint("seed", seed)), numbered(n), EnqueueOptions{}).Run.ID
	rng := rand.New(rand.NewPCG(seed, 1))
	want := make([]oracle, n)
	for i := range want {
		want[i].state = Queued
	}
	var log []string
	for range 150 {
		i := rng.IntN(n)
		o := want[i]
		task := Task{run, int64(i), max(0, o.gen-rng.IntN(3))}
		op := rng.IntN(20)
		log = append(log, fmt.Sprint(op, task))
		switch {
		case op < 7:
			outcome, next := o.begin(task.Gen)
			if got := b.begin(task); got.Outcome != outcome {
				t.Fatalf("seed %d: begin %v, want %v\n%v", seed, got.Outcome, outcome, log)
			}
			want[i] = next
		case op < 10:
			if o.state == Running && task.Gen == o.gen {
				want[i].state = Waiting
			}
			if err := b.Wait(b.ctx, task, WaitQuota, Waits{}); err != nil {
				t.Fatal(err)
			}
		case op < 12:
			if o.state == Running && task.Gen == o.gen {
				want[i].state = RetryWait
			}
			if err := b.RetryWait(b.ctx, task, Waits{}); err != nil {
				t.Fatal(err)
			}
		case op < 18:
			to := []State{Done, Failed, Blocked, Truncated, Expired, Cached}[rng.IntN(6)]
			ok, next := o.finish(task.Gen, to)
			if got := b.keepFields(task, to); got != ok {
				t.Fatalf("seed %d: finish %v, want %v\n%v", seed, got, ok, log)
			}
			want[i] = next
		case op == 18:
			if _, err := b.Cancel(b.ctx, run); err != nil {
				t.Fatal(err)
			}
			for j := range want {
				if !want[j].state.Terminal() {
					want[j] = oracle{Cancelled, want[j].gen + 1}
				}
			}
		default:
			if _, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil {
				t.Fatal(err)
			}
			for j := range want {
				if want[j].state.Terminal() && !want[j].state.Good() {
					want[j] = oracle{Queued, want[j].gen + 1}
				}
			}
		}
		b.balanced(run)
		got, err := b.fetch(b.ctx, run, []int64{int64(i)})
		if err != nil || got[0].State != want[i].state || got[0].Gen != want[i].gen {
			t.Fatalf("seed %d: row %d is %v, want %v (%v)\n%v", seed, i, got[0].rowState, want[i], err, log)
		}
	}
}

// keepFields finishes without giving the fields back, as a bad end does.
func (b *bench) keepFields(t Task, s State) bool {
	b.t.Helper()
	ok, err := b.Finish(b.ctx, t, Result{Row: "r", Status: s.String()})
	if err != nil {
		b.t.Fatal(err)
	}
	return ok
}

func TestResults(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		b.opts.Batch = 300
		run := b.enqueue(named("n"), numbered(1500), EnqueueOptions{}).Run.ID
		ended := []int64{1400, 3, 700, 20, 1025}
		for _, i := range ended {
			task := Task{Run: run, Index: i}
			begun := b.begin(task)
			status := Done
			if i == 700 {
				status = Failed
			}
			long := make([]byte, 5000) // compressed
			for k := range long {
				long[k] = 'a' + byte(k%26)
			}
			if _, err := b.Finish(b.ctx, task, Result{Row: begun.Row, Status: status.String(), Output: string(long) + "\u2028<b>", Fields: begun.Fields}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Cancel(b.ctx, run); err != nil {
			t.Fatal(err)
		}
		list := func(o ResultsOptions) []int64 {
			t.Helper()
			var got []int64
			err := b.Results(b.ctx, run, o, func(r Result) error {
				if r.Row != fmt.Sprintf("r%d", r.Index) || r.Run != run || len(r.Fields) == 0 {
					t.Errorf("result %+v", r)
				}
				got = append(got, r.Index)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := list(ResultsOptions{}); len(got) != 1500 || !slices.IsSorted(got) {
			t.Errorf("%d results, in input order %v", len(got), slices.IsSorted(got))
		}
		if got := list(ResultsOptions{States: []State{Done, Failed}}); !slices.Equal(got, []int64{3, 20, 700, 1025, 1400}) {
			t.Errorf("ended: %v", got)
		}
		if got := list(ResultsOptions{States: []State{Done}, Completed: true}); !slices.Equal(got, []int64{1400, 3, 20, 1025}) {
			t.Errorf("as completed: %v", got)
		}
		if got := list(ResultsOptions{Completed: true}); len(got) != 1500 || !slices.Equal(got[:5], ended) {
			t.Errorf("all, as completed: %v…", got[:5])
		}
	})
}

func TestResultLinesStayLines(t *testing.T) {
	r := Result{Row: "a", Output: "1\u20282\u20293\u00854\n<b>&amp;", Fields: json.RawMessage("{\"t\":\"x\u2028y\",\n\"u\":1.0}")}
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc([]rune(string(line)), func(r rune) bool { return r < 0x20 || r == 0x85 || r == 0x2028 || r == 0x2029 }) {
		t.Errorf("breaks in %s", line)
	}
	var back Result
	if err := json.Unmarshal(line, &back); err != nil || back.Output != r.Output || string(back.Fields) != `{"t":"x\u2028y","u":1.0}` {
		t.Errorf("%+v (%v)", back, err)
	}
}

// TestGroup: calls that come while a script is under way share the next.
func TestGroup(t *testing.T) {
	entered, release := make(chan int), make(chan struct{})
	g := newGroup(func(_ context.Context, _ string, items []int) ([]int, error) {
		entered <- len(items)
		<-release
		if slices.Contains(items, 13) {
			return nil, errors.New("unlucky")
		}
		return items, nil
	})
	var wg sync.WaitGroup
	ask := func(ctx context.Context, i int, bad error) {
		wg.Go(func() {
			got, err := g.do(ctx, "run", i)
			if (err != nil) != (bad != nil) || err == nil && got != i {
				t.Errorf("%d: got %d, %v", i, got, err)
			}
		})
	}
	ask(t.Context(), 1, nil)
	if n := <-entered; n != 1 {
		t.Fatalf("first script has %d calls", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for i := 2; i < 300; i++ {
		if i != 13 && i != 299 {
			ask(t.Context(), i, nil)
		}
	}
	g.waitFor(t, 296)
	ask(ctx, 299, context.Canceled)
	g.waitFor(t, 297)
	cancel()
	g.waitFor(t, 296)
	release <- struct{}{}
	if n := <-entered; n != groupMax {
		t.Errorf("second script has %d calls, want %d", n, groupMax)
	}
	release <- struct{}{}
	if n := <-entered; n != 296-groupMax {
		t.Errorf("third script has %d calls", n)
	}
	release <- struct{}{}
	wg.Wait()
	ask(t.Context(), 13, errors.New("unlucky"))
	<-entered
	release <- struct{}{}
	wg.Wait()
	if len(g.runs) != 0 {
		t.Errorf("left behind: %v", g.runs)
	}
}

// waitFor lets others run until n calls wait.
func (g *group[T, R]) waitFor(t *testing.T, n int) {
	for t.Context().Err() == nil {
		g.mu.Lock()
		k := len(g.runs["run"])
		g.mu.Unlock()
		if k == n {
			return
		}
	}
}
