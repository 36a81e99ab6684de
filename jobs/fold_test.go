package jobs

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// ended is a row's end with an answer of its own.
func ended(t Task, s State, output string) ending {
	r := Result{Run: t.Run, Index: t.Index, Row: fmt.Sprintf("r%d", t.Index), Status: s.String(), Output: output, Attempts: 1}
	if s.Good() {
		r.Fields = json.RawMessage(fmt.Sprintf(`{"id":"r%d"}`, t.Index))
	} else {
		r.Error = &RowError{Cause: "because", Message: output}
	}
	line, err := r.Line()
	if err != nil {
		panic(err)
	}
	return ending{Task: t, state: s, drop: s.Good(), value: pack(s, line)}
}

// end gives rows of one run their ends.
func (b *bench) end(es ...ending) {
	b.t.Helper()
	err := inBatches(es, groupMax, func(batch []ending) error {
		ok, err := b.finishAll(b.ctx, batch[0].Run, batch)
		for i := range ok {
			if !ok[i] {
				b.t.Errorf("%v did not end", batch[i].Task)
			}
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// outputs are the run's results: "state output" by row. A row with two is an
// error.
func (b *bench) outputs(run string) map[string]string {
	b.t.Helper()
	var all map[string]string
	for _, o := range []ResultsOptions{{}, {Completed: true}} {
		seen := map[string]string{}
		err := b.Results(b.ctx, run, o, func(r Result) error {
			if seen[r.Row] != "" {
				b.t.Errorf("row %s has two results", r.Row)
			}
			seen[r.Row] = r.Status + " " + r.Output
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
		if all != nil && !maps.Equal(all, seen) {
			b.t.Error("the results are others in the order in which they ended")
		}
		all = seen
	}
	return all
}

// fold folds and checks the count of bytes against what there is.
func (b *bench) fold(run string) int64 {
	b.t.Helper()
	n, err := b.Fold(b.ctx, run)
	if err != nil {
		b.t.Fatal(err)
	}
	b.bytes(run)
	return n
}

func (b *bench) bytes(run string) int64 {
	b.t.Helper()
	var want int64
	for _, key := range b.rdb.Keys(b.ctx, runPrefix(run)+"res:*").Val() {
		for _, v := range b.rdb.HVals(b.ctx, key).Val() {
			want += int64(len(v))
		}
	}
	for _, key := range b.rdb.Keys(b.ctx, runPrefix(run)+"fold:*").Val() {
		want += b.rdb.StrLen(b.ctx, key).Val() - headLen
	}
	got, err := b.ResultBytes(b.ctx, run)
	if err != nil || got != want {
		b.t.Errorf("results take %d bytes, counted are %d (%v)", want, got, err)
	}
	return got
}

func (b *bench) loose(run string) int {
	n := 0
	for _, key := range b.rdb.Keys(b.ctx, runPrefix(run)+"res:*").Val() {
		n += int(b.rdb.HLen(b.ctx, key).Val())
	}
	return n
}

// TestFold: a stretch whose rows have all ended is folded, one with an open row
// is not, and nobody who reads results sees a difference.
func TestFold(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		b.opts.Batch = 400
		run := b.enqueue(named("n"), numbered(700), EnqueueOptions{}).Run.ID
		const open = 300 // rows 256 to 511 wait for it
		var ends []ending
		for i := range int64(700) {
			if n := (i * 3) % 700; n != open {
				ends = append(ends, ended(Task{Run: run, Index: n}, []State{Done, Failed, Truncated}[i%3], fmt.Sprint("answer ", i)))
			}
		}
		b.end(ends...)
		before, row := b.outputs(run), b.row(run, "r42")
		if n := b.fold(run); n != 700-1-255 || b.loose(run) != 255 {
			t.Errorf("folded %d, %d are loose", n, b.loose(run))
		}
		if n := b.fold(run); n != 0 {
			t.Errorf("folded %d once more", n)
		}
		b.same(run, before)
		if got := b.row(run, "r42"); got.Result == nil || got.Result.Output != row.Result.Output {
			t.Errorf("row is %+v", got)
		}
		b.end(ended(Task{Run: run, Index: open}, Done, "last"))
		before = b.outputs(run)
		if n := b.fold(run); n != 256 || b.loose(run) != 0 {
			t.Errorf("folded %d, %d are loose", n, b.loose(run))
		}
		b.same(run, before)
		b.balanced(run)
	})
}

func (b *bench) same(run string, want map[string]string) {
	b.t.Helper()
	got := b.outputs(run)
	if len(got) != len(want) {
		b.t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for row, w := range want {
		if got[row] != w {
			b.t.Fatalf("row %s is %q, want %q", row, got[row], w)
		}
	}
}

// TestFoldedRowDoneAgain: the newest result of a row that was folded counts,
// loose and folded, and retry sees the causes of folded ones.
func TestFoldedRowDoneAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(5), EnqueueOptions{}).Run.ID
		for i := range int64(5) {
			b.end(ended(Task{Run: run, Index: i}, Failed, "bad"))
		}
		b.fold(run)
		for _, cause := range []string{"other", "because"} {
			n, err := b.Retry(b.ctx, run, RetryFilter{Causes: []string{cause}, Rows: []string{"r3"}})
			if want := int64(strings.Count(cause, "because")); err != nil || n != want {
				t.Fatalf("retried %d of cause %s (%v), want %d", n, cause, err, want)
			}
		}
		if r := b.row(run, "r3"); r.State != Queued || r.Result == nil || r.Result.Output != "bad" {
			t.Errorf("row is %+v", r)
		}
		want := b.outputs(run)
		b.end(ended(Task{Run: run, Index: 3, Gen: 1}, Done, "good"))
		want["r3"] = "done good"
		b.bytes(run)
		b.same(run, want)
		if n := b.fold(run); n != 1 {
			t.Errorf("folded %d", n)
		}
		b.same(run, want)
	})
}

// TestFoldedRowChanges: the old answer of a row that changed is nobody's any
// more, also not when the row leaves and comes back; an unchanged one is.
func TestFoldedRowChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), rows("a:1", "b:1", "c:1"), EnqueueOptions{}).Run.ID
		for i := range int64(3) {
			b.end(ended(Task{Run: run, Index: i}, Done, "one"))
		}
		b.fold(run)
		update := func(pairs ...string) EnqueueReport {
			t.Helper()
			defer b.bytes(run)
			return b.enqueue(named("n"), rows(pairs...), EnqueueOptions{Update: true})
		}
		b.want(update("a:2", "b:1", "c:1"), tally{known: 2, changed: 1})
		if r := b.row(run, "a"); r.State != Queued || r.Result != nil {
			t.Errorf("a is %+v", r)
		}
		b.fold(run) // nothing: a is open
		b.want(update("c:1"), tally{known: 1, removed: 2})
		b.want(update("a:2", "b:1", "c:1"), tally{new: 2, known: 1, taken: 1})
		if r := b.row(run, "b"); r.State != Done || r.Result == nil || r.Result.Output != "one" {
			t.Errorf("b is %+v", r)
		}
		if r := b.row(run, "a"); r.State != Queued || r.Result != nil {
			t.Errorf("a is %+v", r)
		}
		if _, err := b.Cancel(b.ctx, run); err != nil {
			t.Fatal(err)
		}
		b.fold(run) // what hid a's answer is folded in
		if r := b.row(run, "a"); b.loose(run) != 0 || r.State != Cancelled || r.Result != nil {
			t.Errorf("a is %+v", r)
		}
	})
}

// reopened retries a row that ended badly and gives its next end.
func (b *bench) reopened(run string, index int64) ending {
	b.t.Helper()
	if _, err := b.Retry(b.ctx, run, RetryFilter{Rows: []string{fmt.Sprint("r", index)}}); err != nil {
		b.t.Fatal(err)
	}
	return ended(Task{Run: run, Index: index, Gen: 1}, Failed, "once more")
}

// TestFoldComparesBeforeItSets: what changes between reading and folding is not
// lost.
func TestFoldComparesBeforeItSets(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(3), EnqueueOptions{}).Run.ID
		for i := range int64(3) {
			b.end(ended(Task{Run: run, Index: i}, Failed, "bad"))
		}
		c, fields, err := b.unfolded(b.ctx, run, 0)
		if err != nil || len(fields) != 3 {
			t.Fatalf("%d fields (%v)", len(fields), err)
		}
		args, err := c.take(fields)
		if err != nil {
			t.Fatal(err)
		}
		args = append([]any{c.stamp, c.encode(newFolder())}, args...)
		keys := []string{runKey(run), foldKey(run, 0), resKey(run, 0)}
		stale := func() bool { return foldScript.Run(b.ctx, b.rdb, keys, args...).Val() == int64(0) }
		if _, err := b.Retry(b.ctx, run, RetryFilter{Rows: []string{"r1"}}); err != nil {
			t.Fatal(err)
		}
		b.end(ended(Task{Run: run, Index: 1, Gen: 1}, Failed, "worse"))
		if want := b.outputs(run); !stale() {
			t.Error("folded over a newer result")
		} else if b.same(run, want); b.fold(run) != 3 {
			t.Error("not folded")
		}
		b.end(b.reopened(run, 2))
		if c, fields, err = b.unfolded(b.ctx, run, 0); err != nil || len(fields) != 1 {
			t.Fatalf("%d fields (%v)", len(fields), err)
		}
		if args, err = c.take(fields); err != nil {
			t.Fatal(err)
		}
		args = append([]any{c.stamp, c.encode(newFolder())}, args...)
		head := *c
		if _, err := b.mark(b.ctx, run, 0, &head, false); err != nil {
			t.Fatal(err)
		}
		if !stale() {
			t.Error("folded over a newer chunk")
		}
	})
}
