package jobs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// priced are rows whose price is in no prompt.
func priced(n int, price string) string {
	b := strings.Builder{}
	b.WriteString("id,text,price\n")
	for i := range n {
		fmt.Fprintf(&b, "r%d,text %d,%s%d\n", i, i, price, i)
	}
	return b.String()
}

// price is what a line of results says of it, with its status.
func price(t *testing.T, line []byte) string {
	t.Helper()
	var r Result
	var f struct{ Price string }
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.Fields, &f); err != nil {
		t.Fatalf("row %s: %v in %s", r.Row, err, line)
	}
	return r.Row + " " + r.Status + " " + f.Price
}

func (b *bench) prices(run string) (out []string) {
	b.t.Helper()
	err := b.ResultLines(b.ctx, run, ResultsOptions{}, func(line []byte) error {
		out = append(out, price(b.t, line))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// update enqueues once more and wants so many rows with other fields, and no call.
func (b *bench) update(content string, other int64) {
	b.t.Helper()
	p := b.prepare(named("n"), content)
	would, err := b.WouldUpdate(b.ctx, p)
	if err != nil || would.OtherFields != other || would.Removed != 0 {
		b.t.Errorf("told before: %+v (%v), want %d with other fields", would, err, other)
	}
	r, err := b.Enqueue(b.ctx, p, EnqueueOptions{Update: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.balanced(r.Run.ID)
	b.bytes(r.Run.ID)
	b.want(r, tally{known: p.Rows})
	if r.OtherFields != other {
		b.t.Errorf("%d rows with other fields, want %d", r.OtherFields, other)
	}
}

// endAs ends a row the way a worker does: with the fields that it got when it began.
func (b *bench) endAs(begun Begun, t Task, s State) (kept bool, fields json.RawMessage) {
	b.t.Helper()
	r := Result{Row: begun.Row, Status: s.String(), Output: "<a & b> of " + begun.Row, Fields: begun.Fields, Attempts: 1}
	if s == Failed {
		r.Error = &RowError{Cause: "safety", Message: "m"}
	}
	kept, fields, err := b.FinishAs(b.ctx, t, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return kept, fields
}

// TestUpdateOfOtherFields has a row in each state while a column changes that is in no
// prompt: each result carries the new value, and nothing is asked again.
func TestUpdateOfOtherFields(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), priced(10, "old"), EnqueueOptions{}).Run.ID
		task := func(i int64) Task { return Task{Run: run, Index: i} }
		under := b.begin(task(1))
		b.endAs(b.begin(task(2)), task(2), Done)
		b.endAs(b.begin(task(3)), task(3), Failed)
		failing := b.begin(task(4))
		b.begin(task(5)) // its worker dies
		if err := b.Wait(b.ctx, task(6), WaitQueue, Waits{}); err != nil {
			t.Fatal(err)
		}
		before := b.row(run, "r2").Result

		b.update(priced(10, "old"), 0)
		b.update(priced(10, "new"), 10)
		b.update(priced(10, "new"), 0)

		if kept, fields := b.endAs(under, task(1), Done); !kept || !strings.Contains(string(fields), `"new1"`) {
			t.Errorf("the row under way: kept %v with %s", kept, fields)
		}
		b.endAs(failing, task(4), Failed)
		for _, i := range []int64{0, 5} {
			begun := b.begin(task(i))
			if kept, fields := b.endAs(begun, task(i), Done); !kept || fields != nil || !strings.Contains(string(begun.Fields), `"new`) {
				t.Errorf("row %d began with %s; kept %v, %s", i, begun.Fields, kept, fields)
			}
		}
		wantEqual(t, b.prices(run), "r0 done new0", "r1 done new1", "r2 done new2", "r3 failed new3", "r4 failed new4", "r5 done new5")
		after := b.row(run, "r2").Result
		if after.Fields = before.Fields; fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("more of a result was changed than its fields: %v, was %v", after, before)
		}
		if n, err := b.Attempts(b.ctx, run); err != nil || n != 6 {
			t.Errorf("%d attempts (%v), want one of each row that ended", n, err)
		}
		if n, err := b.Retry(b.ctx, run, RetryFilter{}); err != nil || n != 2 {
			t.Fatalf("retried %d (%v)", n, err)
		}
		if f := b.begin(Task{Run: run, Index: 3, Gen: 1}).Fields; !strings.Contains(string(f), `"new3"`) {
			t.Errorf("a failed row is tried again with %s", f)
		}
	})
}

// TestUpdateOfDrainedFields: results that are folded, in files, or in files alone get
// the new fields too, and the files have them when they are written next.
func TestUpdateOfDrainedFields(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		dir := t.TempDir()
		run := b.enqueue(named("n"), priced(6, "old"), EnqueueOptions{}).Run.ID
		for i := range int64(6) {
			b.endAs(b.begin(Task{Run: run, Index: i}), Task{Run: run, Index: i}, Done)
		}
		for i, step := range []func(){
			func() { _, _ = b.Fold(b.ctx, run) },
			func() { b.drain(run, dir) },
			func() { b.drain(run, dir); b.trim(run) },
		} {
			step()
			name := fmt.Sprint("v", i, "-")
			b.update(priced(6, name), 6)
			if got := b.prices(run); len(got) != 6 || got[3] != "r3 done "+name+"3" {
				t.Errorf("after step %d: %v", i, got)
			}
		}
		r := b.drain(run, dir)
		b.trim(run)
		if got := b.prices(run); len(b.inFiles(r.Dir)) != 6 || got[5] != "r5 done v2-5" {
			t.Errorf("from the files: %v", got)
		}

		// Another host does not see the files.
		if err := os.Rename(r.Dir, r.Dir+"-away"); err != nil {
			t.Fatal(err)
		}
		rep := b.enqueue(named("n"), priced(6, "later"), EnqueueOptions{Update: true})
		if rep.OtherFields != 0 || rep.OtherFieldsUnseen != 6 {
			t.Errorf("files that are away: %+v", rep)
		}
	})
}

// TestUpdateOfCachedFields: an answer that was taken over carries the fields of its own
// row, and so does a row that comes back with its result.
func TestUpdateOfCachedFields(t *testing.T) {
	b := newBench(t, miniClient(t))
	first := named("first")
	p := b.prepare(first, priced(3, "old"))
	r, err := b.Enqueue(b.ctx, p, EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.answer(r.Run.ID, p, nil)
	rep, _ := b.reusing(b.prepare(named("n"), priced(3, "old")), LookUpOptions{})
	b.update(priced(3, "new"), 3)
	wantEqual(t, b.prices(rep.Run.ID), "r0 cached new0", "r1 cached new1", "r2 cached new2")
	wantEqual(t, b.prices(r.Run.ID), "r0 done old0", "r1 done old1", "r2 done old2")

	b.enqueue(named("n"), priced(2, "new"), EnqueueOptions{Update: true})
	back := b.enqueue(named("n"), priced(3, "back"), EnqueueOptions{Update: true})
	b.want(back, tally{new: 1, known: 2, taken: 1})
	wantEqual(t, b.prices(rep.Run.ID), "r0 cached back0", "r1 cached back1", "r2 cached back2")
}

// TestUpdateOfOutputsFields: each output of an input row has its fields.
func TestUpdateOfOutputsFields(t *testing.T) {
	b := newBench(t, miniClient(t))
	spec := specOf("{{.text}} {{.lang}}")
	spec.Name, spec.Matrix = "n", []Axis{{Name: "lang", Values: []string{"ja", "en"}}}
	p := b.prepare(spec, priced(2, "old"))
	r, err := b.Enqueue(b.ctx, p, EnqueueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.answer(r.Run.ID, p, nil)
	if rep := b.enqueue(spec, priced(2, "new"), EnqueueOptions{Update: true}); rep.OtherFields != 4 {
		t.Errorf("%+v", rep)
	}
	wantEqual(t, b.prices(r.Run.ID), "r0/ja done new0", "r0/en done new0", "r1/ja done new1", "r1/en done new1")
}

// TestFollowOtherFields: who follows the ends gets a row once more when its fields
// change, and when the last row ended, and in which order, stays as it was.
func TestFollowOtherFields(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), priced(3, "old"), EnqueueOptions{}).Run.ID
		for _, i := range []int64{2, 0, 1} {
			b.endAs(b.begin(Task{Run: run, Index: i}), Task{Run: run, Index: i}, Done)
		}
		var got []string
		look := func(from int64) int64 {
			t.Helper()
			got = nil
			next, err := b.EndedLines(b.ctx, run, from, func(line []byte) error { got = append(got, price(t, line)); return nil })
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		next := look(0)
		wantEqual(t, got, "r2 done old2", "r0 done old0", "r1 done old1")
		b.update(priced(3, "new"), 3)
		look(next)
		wantEqual(t, got, "r0 done new0", "r1 done new1", "r2 done new2")
		if last, found, err := b.LastEnd(b.ctx, run); err != nil || !found || last.Row != "r1" {
			t.Errorf("last end %+v, %v (%v)", last, found, err)
		}
		var order []string
		err := b.ResultLines(b.ctx, run, ResultsOptions{Completed: true}, func(line []byte) error { order = append(order, price(t, line)); return nil })
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, order, "r2 done new2", "r0 done new0", "r1 done new1")
	})
}

// TestEnqueueLeavesOtherFields: without Update known rows stay as they are.
func TestEnqueueLeavesOtherFields(t *testing.T) {
	b := newBench(t, miniClient(t))
	run := b.enqueue(named("n"), priced(2, "old"), EnqueueOptions{}).Run.ID
	b.endAs(b.begin(Task{Run: run}), Task{Run: run}, Done)
	if r := b.enqueue(named("n"), priced(2, "new"), EnqueueOptions{}); r.Known != 2 || r.OtherFields != 0 {
		t.Errorf("%+v", r)
	}
	wantEqual(t, b.prices(run), "r0 done old0")
}

// TestSinkRefit: a results file's good rows get a line with the new fields, which
// counts, and only where they differ.
func TestSinkRefit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	spec := specOf("{{.text}}")
	b := newBench(t, nil)
	f := openSink(t, path)
	p := b.prepare(spec, priced(3, "old"))
	err := p.Each(b.ctx, func(row RenderedRow) error {
		r := result(row.ID, row.Key, Done)
		r.Fields = row.Fields
		if row.ID == "r2" {
			r.Status = Failed.String()
		}
		put(t, f, r)
		return nil
	})
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		price string
		want  int64
	}{{"old", 0}, {"new", 2}, {"new", 0}} {
		f = openSink(t, path)
		n, err := f.Refit(b.ctx, b.prepare(spec, priced(3, c.price)))
		if err != nil || n != c.want {
			t.Errorf("%s: %d lines written anew (%v), want %d", c.price, n, err, c.want)
		}
		if err := f.Tidy(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		got = append(got, price(t, []byte(line)))
	}
	slices.Sort(got)
	wantEqual(t, got, "r0 done new0", "r1 done new1", "r2 failed old2")
}

// TestUpdateKeepsMendedRows: an update with the file that rows were left out of takes
// none of them away that were mended since, whether their lines tell an id or not.
func TestUpdateKeepsMendedRows(t *testing.T) {
	b := newBench(t, miniClient(t))
	spec := named("catalog")
	old := "id,text\na,x\nb,toolong\nc,too,many,cells\nd,w\ne,v\n"
	p, left := leave(t, "r.csv", old, spec)
	if _, err := b.Enqueue(b.ctx, p, EnqueueOptions{}); err != nil {
		t.Fatal(err)
	}
	left[0].Row, left[1].Row = json.RawMessage(`{"id":"b","text":"y"}`), json.RawMessage(`{"id":"c","text":"z"}`)
	mended, _ := leave(t, "bad.jsonl", invalidLines(t, left...), spec)
	if r, err := b.Enqueue(b.ctx, mended, EnqueueOptions{}); err != nil || r.New != 2 {
		t.Fatalf("%+v (%v)", r, err)
	}
	for _, c := range []struct {
		content         string
		removed, stayed int64
	}{
		{old, 0, 2},
		{"id,text\na,x\nb,toolong\nc,too,many,cells\nd,w\n", 1, 2},
		{"id,text\na,x\nb,toolong\nd,w\n", 1, 1}, // c is no longer in the file at all
		{"id,text\na,x\nd,w\n", 1, 0},
	} {
		p, _ := leave(t, "r.csv", c.content, spec)
		would, err := b.WouldUpdate(b.ctx, p)
		if err != nil || would.Removed != c.removed || would.Stayed != c.stayed {
			t.Errorf("%q: told before: %+v (%v)", c.content, would, err)
		}
		r, err := b.Enqueue(b.ctx, p, EnqueueOptions{Update: true})
		if err != nil || r.Removed != c.removed || r.Stayed != c.stayed {
			t.Errorf("%q: %+v (%v), want %d removed, %d stayed", c.content, r, err, c.removed, c.stayed)
		}
		if again, err := b.Enqueue(b.ctx, p, EnqueueOptions{}); err != nil || again.Removed != 0 || again.Run.Rows != r.Run.Rows {
			t.Errorf("%q once more: %+v (%v)", c.content, again, err)
		}
	}
}
