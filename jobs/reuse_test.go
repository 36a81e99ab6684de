package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer gives the rows of a prepared input good answers, "A:" and the prompt.
func (b *bench) answer(run string, p *Prepared, change func(*Result)) {
	b.t.Helper()
	err := p.Each(b.ctx, func(row RenderedRow) error {
		info := b.row(run, row.ID)
		if info.State.Terminal() {
			return nil
		}
		cost := int64(700)
		r := Result{Row: row.ID, Status: "done", Output: "A:" + row.Prompt, Fields: row.Fields, Key: row.Key, MicroUSD: &cost, Attempts: 1, Usage: &Usage{Total: 9}}
		if change != nil {
			change(&r)
		}
		b.begin(info.Task)
		_, err := b.Finish(b.ctx, info.Task, r)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.balanced(run)
}

func (b *bench) lookUp(p *Prepared, o LookUpOptions) *Lookup {
	b.t.Helper()
	l, err := b.LookUp(b.ctx, p, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

// reusing enqueues with what is known.
func (b *bench) reusing(p *Prepared, o LookUpOptions) (EnqueueReport, *Lookup) {
	b.t.Helper()
	l := b.lookUp(p, o)
	r, err := b.Enqueue(b.ctx, p, EnqueueOptions{Reuse: l})
	if err != nil {
		b.t.Fatal(err)
	}
	return r, l
}

// tasksOf counts a run's tasks that wait.
func (b *bench) tasksOf(run string) (n int) {
	for _, id := range b.rdb.LRange(b.ctx, "asynq:{bulk-normal.p.gemini-x}:pending", 0, -1).Val() {
		if strings.HasPrefix(id, run) {
			n++
		}
	}
	return n
}

func (b *bench) results(run string) map[string]Result {
	b.t.Helper()
	got := map[string]Result{}
	if err := b.Results(b.ctx, run, ResultsOptions{}, func(r Result) error { got[r.Row] = r; return nil }); err != nil {
		b.t.Fatal(err)
	}
	return got
}

// TestReuse: another name and other row ids take good answers over, wherever
// these are stored; what is not known is queued.
func TestReuse(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b, dir := newBench(t, rdb), t.TempDir()
		p := b.prepare(named("first"), rows("a:one", "b:two", "c:three", "d:four"))
		first := b.enqueue(named("first"), rows("a:one", "b:two", "c:three", "d:four"), EnqueueOptions{}).Run.ID
		b.answer(first, p, nil)
		for i, store := range []func(){func() {}, func() { b.fold(first) }, func() { b.drain(first, dir); b.trim(first) }} {
			store()
			name := "night" + string(rune('0'+i))
			next := b.prepare(named(name), rows("x:one", "b:two", "c:three!", "new:five"))
			r, l := b.reusing(next, LookUpOptions{})
			if r.Reused != 2 || r.New != 4 || l.Same != 2 || len(l.From()) != 1 || l.From()[0].Title() != "first" {
				t.Errorf("%s: reused %d, %+v", name, r.Reused, l.From())
			}
			c := b.balanced(r.Run.ID)
			if c[Cached] != 2 || c[Queued] != 2 {
				t.Errorf("%s: %v", name, c)
			}
			got := b.results(r.Run.ID)["x"]
			if got.Status != "cached" || got.Output != "A:one" || string(got.Fields) != `{"id":"x","text":"one"}` || got.Run != r.Run.ID ||
				*got.MicroUSD != 0 || got.Usage != nil || got.From.Run != first || got.From.Row != "a" || got.From.Finished.IsZero() {
				t.Errorf("%s: taken over %+v from %+v", name, got, got.From)
			}
			if _, err := b.Purge(b.ctx, r.Run.ID, PurgeOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Purge(b.ctx, first, PurgeOptions{Drained: true}); err != nil {
			t.Fatal(err)
		}
		if r, _ := b.reusing(b.prepare(named("after"), rows("a:one")), LookUpOptions{}); r.Reused != 0 {
			t.Errorf("a purged run's results were taken over: %+v", r)
		}
	})
}

// TestReuseOnlyOfGood: what no run may take over.
func TestReuseOnlyOfGood(t *testing.T) {
	b := newBench(t, miniClient(t))
	b.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	for what, c := range map[string]struct {
		change func(*Result)
		spec   func(*Spec)
		keep   time.Duration
	}{
		"truncated":        {change: func(r *Result) { r.Status = "truncated" }},
		"blocked":          {change: func(r *Result) { r.Status = "blocked" }},
		"another model's":  {change: func(r *Result) { r.Instead = "gemini-x" }},
		"without a key":    {change: func(r *Result) { r.Key = "" }},
		"too old":          {change: func(r *Result) { r.Finished = b.now().Add(-25 * time.Hour) }, keep: 24 * time.Hour},
		"another tenant's": {spec: func(s *Spec) { s.Tenant = "acme" }},
		"of a simulation":  {spec: func(s *Spec) { s.API = "simulated" }},
		"another project":  {spec: func(s *Spec) { s.Lane = "gemini/q/global/gemini-x" }},
		"the model":        {spec: func(s *Spec) { s.Model = "gemini-y" }},
		"settings":         {spec: func(s *Spec) { s.Settings.MaxOutputTokens = 9 }},
	} {
		was, is := named("was "+what), named("is "+what)
		if c.spec != nil {
			c.spec(&was)
		}
		text := rows("a:" + what)
		p := b.prepare(was, text)
		run := b.enqueue(was, text, EnqueueOptions{}).Run.ID
		b.answer(run, p, c.change)
		if r, l := b.reusing(b.prepare(is, text), LookUpOptions{Keep: c.keep}); r.Reused != 0 || l.Same != 0 {
			t.Errorf("%s: reused %d of %d", what, r.Reused, l.Same)
		}
		if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		is.Name = "like it"
		if c.spec != nil {
			c.spec(&is)
		}
		again := b.prepare(was, text)
		run = b.enqueue(was, text, EnqueueOptions{}).Run.ID
		b.answer(run, again, nil)
		if r, _ := b.reusing(b.prepare(is, text), LookUpOptions{Keep: c.keep}); r.Reused != 1 {
			t.Errorf("%s: a good one is not reused", what)
		}
		for _, id := range []string{run, "like it"} {
			found, err := b.Find(b.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Purge(b.ctx, found.ID, PurgeOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestReuseOfRepeats: rows that ask the same under several ids keep their own
// answers, and a further one takes one of these.
func TestReuseOfRepeats(t *testing.T) {
	b := newBench(t, miniClient(t))
	text := rows("a:one", "b:one", "c:one")
	p := b.prepare(named("first"), text)
	run := b.enqueue(named("first"), text, EnqueueOptions{}).Run.ID
	b.answer(run, p, func(r *Result) { r.Output = "of " + r.Row })
	r, l := b.reusing(b.prepare(named("second"), rows("z:one", "c:one", "b:one", "a:one")), LookUpOptions{})
	if r.Reused != 4 || l.Twins != 3 {
		t.Fatalf("reused %d, %d twins", r.Reused, l.Twins)
	}
	got := b.results(r.Run.ID)
	for _, id := range []string{"a", "b", "c"} {
		if got[id].Output != "of "+id {
			t.Errorf("%s has the answer %q", id, got[id].Output)
		}
	}
	if !strings.HasPrefix(got["z"].Output, "of ") {
		t.Errorf("z has %q", got["z"].Output)
	}
	if again := b.enqueue(named("second"), rows("z:one", "c:one", "b:one", "a:one"), EnqueueOptions{}); again.Known != 4 {
		t.Errorf("again: %+v", again)
	}
}

// TestReuseGone: results that go between the look and the enqueue are asked for.
func TestReuseGone(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		p := b.prepare(named("first"), numbered(20))
		run := b.enqueue(named("first"), numbered(20), EnqueueOptions{}).Run.ID
		b.answer(run, p, nil)
		next := b.prepare(named("next"), numbered(20))
		l := b.lookUp(next, LookUpOptions{})
		if _, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		r, err := b.Enqueue(b.ctx, next, EnqueueOptions{Reuse: l})
		if err != nil || l.Same != 20 || r.Reused != 0 || b.tasksOf(r.Run.ID) != 20 {
			t.Errorf("%+v (%v), %d tasks", r, err, b.tasksOf(r.Run.ID))
		}
		b.balanced(r.Run.ID)
	})
}

// TestReuseKilled: an enqueue that dies while it takes results over leaves queued
// rows; the same call takes the rest, and without one the sweep gives them tasks,
// but not while an enqueue is at it.
func TestReuseKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		for _, again := range []bool{true, false} {
			b := newBench(t, rdb)
			b.rdb.FlushDB(b.ctx)
			text := numbered(20)
			p := b.prepare(named("first"), text)
			run := b.enqueue(named("first"), text, EnqueueOptions{}).Run.ID
			b.answer(run, p, nil)
			next := b.prepare(named("next"), text)
			died := errors.New("killed")
			calls := 0
			r, err := b.Enqueue(b.ctx, next, EnqueueOptions{Reuse: b.lookUp(next, LookUpOptions{}), Reused: func(context.Context, []Result) error {
				if calls++; calls == 2 {
					return died
				}
				return nil
			}})
			found, _ := b.Find(b.ctx, "next")
			c := b.balanced(found.ID)
			if !errors.Is(err, died) || c[Cached] != 7 || c[Queued] != 13 || r.Reused != 7 {
				t.Fatalf("%v: %v, reused %d", err, c, r.Reused)
			}
			if again {
				r, _ := b.reusing(next, LookUpOptions{})
				if r.Reused != 13 || b.balanced(found.ID)[Cached] != 20 || b.tasksOf(found.ID) != 0 {
					t.Errorf("again: %+v", r)
				}
				continue
			}
			if s, err := b.Sweep(b.ctx, found.ID); err != nil || s.Recreated != 0 {
				t.Errorf("sweep under way: %+v (%v)", s, err)
			}
			b.rdb.Del(b.ctx, takingKey(found.ID)) // as its expiry does
			if s, err := b.Sweep(b.ctx, found.ID); err != nil || s.Recreated != 13 {
				t.Errorf("sweep: %+v (%v)", s, err)
			}
		}
	})
}

// TestReuseUnseen: results in files of another host are said, and asked for.
func TestReuseUnseen(t *testing.T) {
	b, dir := newBench(t, redisClient(t)), t.TempDir()
	p := b.prepare(named("first"), numbered(5))
	run := b.enqueue(named("first"), numbered(5), EnqueueOptions{}).Run.ID
	b.answer(run, p, nil)
	b.drain(run, dir)
	if err := os.Rename(filepath.Join(dir, run), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	next := b.prepare(named("next"), numbered(6))
	if l := b.lookUp(next, LookUpOptions{}); l.Same != 5 || len(l.Unseen) != 0 {
		t.Errorf("in Redis still: %d, unseen %+v", l.Same, l.Unseen)
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, run)); err != nil {
		t.Fatal(err)
	}
	b.trim(run)
	if err := os.Rename(filepath.Join(dir, run), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	l := b.lookUp(next, LookUpOptions{})
	if l.Same != 0 || len(l.Unseen) != 1 || l.Unseen[0].Rows != 5 || l.Unseen[0].Dir != filepath.Join(dir, run) || l.Unseen[0].Host == "" {
		t.Fatalf("same %d, unseen %+v", l.Same, l.Unseen)
	}
	r, err := b.Enqueue(b.ctx, next, EnqueueOptions{Reuse: l})
	if err != nil || r.Reused != 0 || b.tasksOf(r.Run.ID) != 6 {
		t.Errorf("%+v (%v)", r, err)
	}
}

// TestReuseOfAFile: results files serve where Redis ends with its process.
func TestReuseOfAFile(t *testing.T) {
	b := newBench(t, miniClient(t))
	p := b.prepare(named("next"), rows("x:one", "y:two", "z:three"))
	var keys []string
	_ = p.Each(b.ctx, func(r RenderedRow) error { keys = append(keys, r.Key); return nil })
	var text strings.Builder
	for _, r := range []Result{
		{Row: "a", Run: "old", Status: "done", Output: "uno", Key: keys[0], Finished: time.Now()},
		{Row: "b", Run: "old", Status: "truncated", Output: "d", Key: keys[1], Finished: time.Now()},
		{Row: "c", Run: "old", Status: "done", Output: "tres", Key: keys[2], Finished: time.Now()},
	} {
		line, _ := r.Line()
		text.Write(append(line, '\n'))
	}
	cut := text.String()[:text.Len()-5] // the last line was cut off
	path := file(t, "results.jsonl", []byte("not JSON\n"+cut))
	var told []string
	l := b.lookUp(p, LookUpOptions{Files: []string{path, path + ".missing"}})
	r, err := b.Enqueue(b.ctx, p, EnqueueOptions{Reuse: l, Reused: func(_ context.Context, rs []Result) error {
		for _, r := range rs {
			told = append(told, r.Row+" "+r.Output+" "+r.From.Row)
		}
		return nil
	}})
	if err != nil || r.Reused != 1 || !slices.Equal(told, []string{"x uno a"}) || l.From()[0].Title() != path || b.tasksOf(r.Run.ID) != 2 {
		t.Errorf("%+v (%v), told %q", r, err, told)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p = b.prepare(named("gone"), rows("x:one"))
	if r, err := b.Enqueue(b.ctx, p, EnqueueOptions{Reuse: b.lookUp(p, LookUpOptions{})}); err != nil || r.Reused != 1 {
		t.Errorf("from the run that took it: %+v (%v)", r, err)
	}
	var got Result
	_ = b.Results(b.ctx, mustFind(b, "gone"), ResultsOptions{}, func(r Result) error { got = r; return nil })
	if b, _ := json.Marshal(got.From); got.From.Run != "old" || got.From.Row != "a" {
		t.Errorf("it was made by %s", b)
	}
}

func mustFind(b *bench, ref string) string {
	b.t.Helper()
	r, err := b.Find(b.ctx, ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// TestAsks counts the keys that an input has, of others'.
func TestAsks(t *testing.T) {
	t.Parallel()
	one := RenderedRow{ID: "a", Key: "aa00000000000000000000000000000f"}
	p := &Prepared{keys: []RowKey{keyOf(one)}}
	if n := p.Asks([]string{one.Key, "", "bb00000000000000000000000000000f"}); n != 1 {
		t.Errorf("%d", n)
	}
}
