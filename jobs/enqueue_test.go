package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// bench is what most tests need: a store, its Redis and a way to make runs.
type bench struct {
	*Store
	t   *testing.T
	rdb redis.UniversalClient
	ctx context.Context
}

func newBench(t *testing.T, rdb redis.UniversalClient) *bench {
	return &bench{NewStore(rdb, StoreOptions{Batch: 7}), t, rdb, context.Background()}
}

// rows are "id: text" as CSV.
func rows(pairs ...string) string {
	var b strings.Builder
	b.WriteString("id,text\n")
	for _, p := range pairs {
		id, text, _ := strings.Cut(p, ":")
		fmt.Fprintf(&b, "%s,%s\n", id, text)
	}
	return b.String()
}

func numbered(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("r%d:text %d", i, i))
	}
	return rows(list...)
}

func (b *bench) prepare(spec Spec, content string) *Prepared {
	b.t.Helper()
	p, err := Prepare(b.ctx, Input{Path: file(b.t, "rows.csv", []byte(content))}, spec, PrepareOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = p.Close() })
	return p
}

func named(name string) Spec {
	s := specOf("{{.text}}")
	s.Name = name
	return s
}

func (b *bench) enqueue(spec Spec, content string, o EnqueueOptions) EnqueueReport {
	b.t.Helper()
	r, err := b.Enqueue(b.ctx, b.prepare(spec, content), o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.balanced(r.Run.ID)
	return r
}

// balanced checks that the counters are what the ledger's bytes add up to, and
// the run's rows.
func (b *bench) balanced(run string) Counts {
	b.t.Helper()
	m, err := b.meta(b.ctx, run)
	if err != nil {
		b.t.Fatal(err)
	}
	var own Counts
	if err := b.eachState(b.ctx, m, func(r rowState) { own[r.State]++ }); err != nil {
		b.t.Fatal(err)
	}
	c, err := b.Counts(b.ctx, run)
	if err != nil {
		b.t.Fatal(err)
	}
	if c != own || c.Total() != m.Rows {
		b.t.Fatalf("counters %v, ledger %v, rows %d", c, own, m.Rows)
	}
	return c
}

// pending are the tasks in asynq's pending list.
func (b *bench) pending(queue string) int {
	b.t.Helper()
	n, err := b.rdb.LLen(b.ctx, "asynq:{"+queue+"}:pending").Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return int(n)
}

func (b *bench) row(run, id string) RowInfo {
	b.t.Helper()
	r, err := b.Row(b.ctx, run, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) begin(t Task) Begun {
	b.t.Helper()
	begun, err := b.Begin(b.ctx, t)
	if err != nil {
		b.t.Fatal(err)
	}
	return begun
}

func (b *bench) finish(t Task, s State) bool {
	b.t.Helper()
	ok, err := b.Finish(b.ctx, t, Result{Row: "r", Status: s.String(), Output: "out", Fields: json.RawMessage(`{"id":"r"}`)})
	if err != nil {
		b.t.Fatal(err)
	}
	return ok
}

type tally struct{ new, known, changed, removed, repaired, taken int64 }

func (b *bench) want(r EnqueueReport, want tally) {
	b.t.Helper()
	if got := (tally{r.New, r.Known, r.Changed, r.Removed, r.Repaired, r.Taken}); got != want {
		b.t.Errorf("enqueued %+v, want %+v", got, want)
	}
}

func TestEnqueue(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("night"), numbered(50), EnqueueOptions{})
		b.want(r, tally{new: 50})
		if r.Queue != "bulk-normal.p.gemini-x" || b.pending(r.Queue) != 50 || r.Run.Rows != 50 {
			t.Errorf("queue %s with %d of %d", r.Queue, b.pending(r.Queue), r.Run.Rows)
		}
		lanes, err := b.Lanes(b.ctx)
		if err != nil || len(lanes) != 1 || lanes[0] != "gemini/p/global/gemini-x" {
			t.Errorf("lanes %v (%v)", lanes, err)
		}
		insp := asynq.NewInspectorFromRedisClient(rdb)
		info, err := insp.GetTaskInfo(r.Queue, Task{Run: r.Run.ID, Index: 49}.ID())
		if err != nil {
			t.Fatal(err)
		}
		if info.MaxRetry != 1<<20 || !info.Deadline.IsZero() || info.Retention != 0 || info.Type != TaskType {
			t.Errorf("task %+v", info)
		}
		if string(info.Payload) != `{"v":1,"run":"`+r.Run.ID+`","n":49,"row":"r49"}` {
			t.Errorf("payload %s", info.Payload)
		}
		begun := b.begin(Task{Run: r.Run.ID, Index: 49})
		if begun.Outcome != Proceed || begun.From != Queued || begun.Row != "r49" || string(begun.Fields) != `{"id":"r49","text":"text 49"}` || begun.Digest != r.Run.Digest {
			t.Errorf("begun %+v", begun)
		}
	})
}

func TestEnqueueAgainAddsWhatIsMissing(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		for _, name := range []string{"night", ""} {
			first := b.enqueue(named(name), numbered(30), EnqueueOptions{})
			again := b.enqueue(named(name), numbered(30), EnqueueOptions{})
			b.want(again, tally{known: 30})
			if again.Run.ID != first.Run.ID {
				t.Errorf("name %q: a second run", name)
			}
		}
		if n := b.pending("bulk-normal.p.gemini-x"); n != 60 {
			t.Errorf("%d tasks, want 60", n)
		}
	})
}

// TestEnqueueRepairsACrash cuts the enqueue off between the ledger and the
// queue, and in the middle of the file.
func TestEnqueueRepairsACrash(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		ctx, cancel := context.WithCancel(b.ctx)
		_, err := b.Enqueue(ctx, b.prepare(named("night"), numbered(40)), EnqueueOptions{Progress: func(done, _ int64) {
			if done > 15 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		queue := "bulk-normal.p.gemini-x"
		if n := b.pending(queue); n != 21 {
			t.Fatalf("%d tasks before the crash", n)
		}
		// Three tasks that were never written: the crash was after the ledger.
		for range 3 {
			id := rdb.LPop(b.ctx, "asynq:{"+queue+"}:pending").Val()
			rdb.Del(b.ctx, "asynq:{"+queue+"}:t:"+id)
		}
		b.want(b.enqueue(named("night"), numbered(40), EnqueueOptions{}), tally{new: 19, known: 21, repaired: 3})
		if n := b.pending(queue); n != 40 {
			t.Errorf("%d tasks, want 40", n)
		}
	})
}

func TestChangedRunIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("night"), rows("a:1", "b:2", "c:3"), EnqueueOptions{})
		refuse := func(spec Spec, content, want string) {
			t.Helper()
			_, err := b.Enqueue(b.ctx, b.prepare(spec, content), EnqueueOptions{})
			var ce *ChangedError
			if !errors.As(err, &ce) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v\nwant %s", err, want)
			}
			b.balanced(r.Run.ID)
		}
		refuse(named("night"), rows("a:1", "b:other", "d:4"), "run night was made from another set of rows: of the rows 1 new, 1 changed, 1 gone, 1 the same;")
		spec := named("night")
		spec.Template = "{{.text}}!"
		spec.Settings.MaxOutputTokens = 9
		refuse(spec, rows("a:1", "b:2", "c:3"), "run night was made from another template, settings: of the rows 0 new, 3 changed, 0 gone, 0 the same;")
		spec = named("night")
		spec.Priority = High
		if _, err := b.Enqueue(b.ctx, b.prepare(spec, rows("a:1")), EnqueueOptions{Update: true}); err == nil || !strings.Contains(err.Error(), "keeps its lane and priority") {
			t.Errorf("other queue: %v", err)
		}
		// Another order is no change.
		b.want(b.enqueue(named("night"), rows("c:3", "a:1", "b:2"), EnqueueOptions{}), tally{known: 3})
	})
}

func TestUpdateRedoesWhatChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("night"), rows("a:1", "b:2", "c:3", "d:4"), EnqueueOptions{})
		run := r.Run.ID
		for _, id := range []string{"a", "b", "c"} {
			info := b.row(run, id)
			b.begin(info.Task)
			b.finish(info.Task, Done)
		}
		old := b.row(run, "b").Task
		b.want(b.enqueue(named("night"), rows("a:1", "b:new", "e:5"), EnqueueOptions{Update: true}), tally{new: 1, known: 1, changed: 1, removed: 2})
		if r, err := b.Find(b.ctx, "night"); err != nil || r.Dropped != 2 {
			t.Errorf("%d rows have left it, want 2 (%v)", r.Dropped, err)
		}
		if got := b.row(run, "b"); got.State != Queued || got.Gen != 1 || string(got.Fields) != `{"id":"b","text":"new"}` || got.Result != nil {
			t.Errorf("changed row: %+v", got)
		}
		if b.begin(old).Outcome != OutcomeStale || b.finish(old, Done) {
			t.Error("the old generation still counts")
		}
		if _, err := b.Row(b.ctx, run, "c"); !errors.Is(err, ErrNoRow) {
			t.Errorf("removed row: %v", err)
		}
		// Of before: a, b and c, which begin and end without asynq here; now: b and e. d's was deleted.
		if n := b.pending(r.Queue); n != 5 {
			t.Errorf("%d tasks, want 5", n)
		}
		// c comes back with the answer it had; d without.
		b.want(b.enqueue(named("night"), rows("a:1", "b:new", "e:5", "c:3", "d:4"), EnqueueOptions{Update: true}), tally{new: 2, known: 3, taken: 1})
		if got := b.row(run, "c"); got.State != Done || got.Result == nil {
			t.Errorf("returned row: %+v", got)
		}
		// The same once more needs no update.
		b.want(b.enqueue(named("night"), rows("a:1", "b:new", "e:5", "c:3", "d:4"), EnqueueOptions{}), tally{known: 5})
	})
}

// TestUpdateAfterACrash: an update that was cut off asks again.
func TestUpdateAfterACrash(t *testing.T) {
	b := newBench(t, redisClient(t))
	b.enqueue(named("night"), numbered(30), EnqueueOptions{})
	next := strings.ReplaceAll(numbered(30), "text", "other")
	next = strings.Replace(next, "id,other", "id,text", 1)
	ctx, cancel := context.WithCancel(b.ctx)
	if _, err := b.Enqueue(ctx, b.prepare(named("night"), next), EnqueueOptions{Update: true, Progress: func(int64, int64) { cancel() }}); err == nil {
		t.Fatal("not cut off")
	}
	var ce *ChangedError
	if _, err := b.Enqueue(b.ctx, b.prepare(named("night"), next), EnqueueOptions{}); !errors.As(err, &ce) || ce.Changed != 23 {
		t.Fatalf("got %v", err)
	}
	b.want(b.enqueue(named("night"), next, EnqueueOptions{Update: true}), tally{known: 7, changed: 23})
}

// TestResumeIsByRowID: equal prompts are no repeats, and a row that is put in
// front moves nobody's answer.
func TestResumeIsByRowID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	sink := openSink(t, path)
	b := newBench(t, redisClient(t))
	err := b.prepare(named("n"), rows("a:same", "b:same", "c:same")).Each(b.ctx, func(r RenderedRow) error {
		if r.ID != "b" {
			return nil
		}
		return sink.Put(b.ctx, result(r.ID, r.Key, Done))
	})
	if err := errors.Join(err, sink.Close()); err != nil {
		t.Fatal(err)
	}
	sink = openSink(t, path)
	defer sink.Close()
	r := b.enqueue(named("n"), rows("new:same", "a:same", "b:same", "c:same"), EnqueueOptions{Have: sink.Have})
	b.want(r, tally{new: 4, taken: 1})
	for id, want := range map[string]State{"new": Queued, "a": Queued, "b": Done, "c": Queued} {
		if got := b.row(r.Run.ID, id).State; got != want {
			t.Errorf("%s is %v, want %v", id, got, want)
		}
	}
	// Another template makes another key: the old answer does not count.
	spec := named("m")
	spec.Template = "{{.text}}!"
	b.want(b.enqueue(spec, rows("b:same"), EnqueueOptions{Have: sink.Have}), tally{new: 1})
}

// TestKnownRowsAreListed: some of many are there already.
func TestKnownRowsAreListed(t *testing.T) {
	b := newBench(t, redisClient(t))
	b.opts.Batch = 500
	b.enqueue(named("n"), rows("r7:text 7", "r1999:text 1999"), EnqueueOptions{})
	r := b.enqueue(named("n"), numbered(2000), EnqueueOptions{Update: true})
	b.want(r, tally{new: 1998, known: 2})
	wantEqual(t, r.KnownRows, "r7", "r1999")
}

func TestEnqueueTakesWhatExists(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		r := b.enqueue(named("n"), numbered(10), EnqueueOptions{Have: func(row, _ string) State {
			if row == "r3" || row == "r4" {
				return Done
			}
			return None
		}})
		b.want(r, tally{new: 10, taken: 2})
		if c := b.balanced(r.Run.ID); c[Done] != 2 || c[Queued] != 8 || b.pending(r.Queue) != 8 {
			t.Errorf("counts %v, %d tasks", c, b.pending(r.Queue))
		}
	})
}

// TestTasksAreCaught fails when asynq enqueues in another way than v0.26 does:
// then enqueueing is right but slow.
func TestTasksAreCaught(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := NewStore(rdb, StoreOptions{})
		w := s.newTaskWriter("q")
		write := func(from, to int64) []bool {
			t.Helper()
			for i := from; i < to; i++ {
				w.add(Task{Run: "r", Index: i}, "x")
			}
			fresh, err := w.flush(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return fresh
		}
		write(0, 100)
		if w.caught != 99 { // the first loads the script
			t.Errorf("caught %d of 99", w.caught)
		}
		for i, f := range write(98, 103) {
			if f != (i >= 2) {
				t.Errorf("conflicts not told apart: task %d fresh %v", 98+i, f)
			}
		}
		// A Redis that was restarted has forgotten the script.
		rdb.ScriptFlush(context.Background())
		for i, f := range write(102, 110) {
			if f != (i >= 1) {
				t.Errorf("after a restart: task %d fresh %v", 102+i, f)
			}
		}
		if n := rdb.LLen(context.Background(), "asynq:{q}:pending").Val(); n != 110 {
			t.Errorf("%d tasks, want 110", n)
		}
	})
}

func TestFind(t *testing.T) {
	b := newBench(t, redisClient(t))
	if _, err := b.Find(b.ctx, ""); !errors.Is(err, ErrNoRun) {
		t.Errorf("no runs: %v", err)
	}
	first := b.enqueue(named("one"), rows("a:1"), EnqueueOptions{}).Run
	second := b.enqueue(named(""), rows("a:1"), EnqueueOptions{}).Run
	for ref, want := range map[string]string{"": second.ID, "one": first.ID, first.ID: first.ID, second.ID[:11]: second.ID} {
		if r, err := b.Find(b.ctx, ref); err != nil || r.ID != want {
			t.Errorf("%q: %v (%v), want %s", ref, r.ID, err, want)
		}
	}
	third := b.enqueue(named("once more"), rows("a:1"), EnqueueOptions{}).Run
	b.rdb.HSet(b.ctx, keyNames, "oncoming", "its enqueue died before the record")
	for ref, want := range map[string]string{"one": first.ID, "onc": third.ID, "once more": third.ID} {
		if r, err := b.Find(b.ctx, ref); err != nil || r.ID != want {
			t.Errorf("%q: %v (%v), want %s", ref, r.ID, err, want)
		}
	}
	var ae *AmbiguousError
	if _, err := b.Find(b.ctx, "on"); !errors.As(err, &ae) || len(ae.Matches) != 2 || ae.Matches[0].ID != first.ID {
		t.Errorf("ambiguous name: %v", err)
	}
	if _, err := b.Find(b.ctx, "="); !errors.Is(err, ErrNoRun) { // what runs without a name are known by
		t.Errorf("a digest: %v", err)
	}
	if _, err := b.Purge(b.ctx, third.ID, PurgeOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(b.ctx, first.ID[:2]); !errors.As(err, &ae) || len(ae.Matches) != 2 {
		t.Errorf("ambiguous: %v", err)
	}
	if _, err := b.Find(b.ctx, "nothing"); !errors.Is(err, ErrNoRun) {
		t.Errorf("nothing: %v", err)
	}
	all, err := b.Runs(b.ctx)
	if err != nil || len(all) != 2 || all[0].ID != second.ID || all[1].Rows != 1 {
		t.Errorf("runs %+v (%v)", all, err)
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"", "night", "café 2026-11", "a=b", "日本語", strings.Repeat("é", 100)} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"-o", "=x", "a\nb", "a\tb", "a\x1b[31m", "a\u202eb", "\xff", " a", "a ", " ", strings.Repeat("é", 101)} {
		if err := CheckName(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestNewerRunIsLeftAlone(t *testing.T) {
	b := newBench(t, redisClient(t))
	r := b.enqueue(named("n"), rows("a:1"), EnqueueOptions{}).Run
	b.rdb.HSet(b.ctx, runKey(r.ID), "v", schemaVersion+1)
	if _, err := b.Load(b.ctx, r.ID); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v", err)
	}
}
