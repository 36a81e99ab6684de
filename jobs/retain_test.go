package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// retaining is a bench whose clock is moved by hand; Redis's own stays.
func retaining(t *testing.T, rdb redis.UniversalClient) (*bench, func(time.Duration)) {
	b, now := newBench(t, rdb), time.Now()
	b.now = func() time.Time { return now }
	return b, func(d time.Duration) { now = now.Add(d) }
}

func (b *bench) retain(r Retention) []Retained {
	b.t.Helper()
	list, err := b.Retain(b.ctx, r)
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// TestRetain: a run goes when its time is over, after that was said; longer when it
// has rows that failed or says so itself, and never while rows are open.
func TestRetain(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b, pass := retaining(t, rdb)
		dir := t.TempDir()
		r := Retention{Done: 10 * 24 * time.Hour, Failed: 30 * 24 * time.Hour}
		ids := map[string]string{}
		for name, keep := range map[string]time.Duration{"good": 0, "bad": 0, "open": 0, "short": time.Hour, "forever": KeepForever} {
			spec := named(name)
			spec.Steer.Keep = keep
			run := b.enqueue(spec, numbered(3), EnqueueOptions{}).Run.ID
			ids[name] = run
			for i, status := range []State{Done, Done, Done} {
				switch {
				case name == "bad" && i == 1:
					status = Failed
				case name == "open" && i == 2:
					continue
				}
				b.end(ended(Task{Run: run, Index: int64(i)}, status, "out"))
			}
			b.drain(run, dir)
		}
		said := func(want string) {
			t.Helper()
			var got []string
			for _, k := range b.retain(r) {
				word := "told"
				if k.Removed {
					word = "removed"
				}
				got = append(got, k.Run.Title()+" "+word+k.Stays)
			}
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("said %q, want %q", s, want)
			}
		}
		said("")
		pass(55 * time.Minute)
		said("short told")
		said("")
		pass(7 * time.Minute)
		said("short removed")
		pass(9*24*time.Hour - 30*time.Minute)
		said("good told")
		pass(23 * time.Hour)
		said("")
		pass(2 * time.Hour)
		said("good removed")
		pass(60 * 24 * time.Hour) // the scheduler was away: it is said first all the same
		said("bad told")
		said("")
		pass(25 * time.Hour)
		said("bad removed")
		pass(1000 * 24 * time.Hour)
		said("")
		for _, name := range []string{"open", "forever"} {
			if _, err := b.Load(b.ctx, ids[name]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, ids["good"])); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("drained files: %v", err)
		}
	})
}

// TestRetainKeepsWhatNobodyHas: results that are in Redis alone stay, are said
// once, and go when somebody has fetched them or the configuration says so.
func TestRetainKeepsWhatNobodyHas(t *testing.T) {
	b, pass := retaining(t, miniClient(t))
	r := Retention{Done: 24 * time.Hour, Failed: 24 * time.Hour}
	run := func(name string) string {
		id := b.enqueue(named(name), numbered(1), EnqueueOptions{}).Run.ID
		b.end(ended(Task{Run: id}, Done, "out"))
		return id
	}
	id := run("alone")
	pass(24 * time.Hour)
	b.retain(r)
	pass(24 * time.Hour)
	if list := b.retain(r); len(list) != 1 || list[0].Removed || !strings.Contains(list[0].Stays, "nobody has fetched") {
		t.Errorf("%+v", list)
	}
	if list := b.retain(r); len(list) != 0 {
		t.Errorf("said again: %+v", list)
	}
	if err := b.Fetched(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	if list := b.retain(r); len(list) != 1 || !list[0].Removed {
		t.Errorf("fetched: %+v", list)
	}
	if err := b.Fetched(b.ctx, id); err != nil || len(b.rdb.Keys(b.ctx, "*"+id+"*").Val()) > 1 { // its task, which no worker took
		t.Errorf("a purged run came back: %v %v", err, b.rdb.Keys(b.ctx, "*"+id+"*").Val())
	}
	pass(-48 * time.Hour)
	run("unfetched")
	pass(24 * time.Hour)
	b.retain(r)
	pass(24 * time.Hour)
	r.Unfetched = true
	if list := b.retain(r); len(list) != 1 || !list[0].Removed {
		t.Errorf("told to: %+v", list)
	}
}

// TestStand: each row is new, the same, open, failed or stale, and stale rows say why.
func TestStand(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		text := rows("a:one", "b:two", "c:three", "d:four")
		p := b.prepare(named("night"), text)
		run := b.enqueue(named("night"), text+rows("o:open"), EnqueueOptions{}).Run.ID
		b.answer(run, p, func(r *Result) {
			if r.Row == "d" {
				r.Status, r.Error = "failed", &RowError{Cause: "schema"}
			}
		})
		stand := func(spec Spec, text string) Stand {
			t.Helper()
			p := b.prepare(spec, text)
			st, err := b.Stand(b.ctx, p, b.lookUp(p, LookUpOptions{}))
			if err != nil || st.New+st.Same+st.Open+st.Failed+st.Stale+st.Unseen != p.Rows {
				t.Fatalf("%+v (%v)", st, err)
			}
			return st
		}
		st := stand(named("night"), rows("a:one", "b:two!", "d:four", "o:open", "x:one", "y:new"))
		if st.Earlier.ID != run || st.Same != 2 || st.Stale != 1 || st.Open != 1 || st.Failed != 1 || st.New != 1 || st.Why[0] != (StaleWhy{"the rows' fields", 1}) {
			t.Errorf("%+v", st)
		}
		other := named("another name") // is compared since its input has the same name
		other.Model, other.Template = "gemini-y", "{{.text}}?"
		again := b.prepare(other, text)
		found, _ := b.Load(b.ctx, run)
		again.Name = found.Input
		if st, err := b.Stand(b.ctx, again, nil); err != nil || st.Stale != 4 || st.Why[0] != (StaleWhy{"model, template", 4}) {
			t.Errorf("%+v (%v)", st, err)
		}
		other.Tenant = "acme"
		if st := stand(other, text); st.New != 4 || st.Earlier.ID != "" {
			t.Errorf("another tenant: %+v", st)
		}
	})
}

// TestStandNamesTheFile: of rows that are stale since a file has changed, the file is
// named, also when every row is done and the contents are gone.
func TestStandNamesTheFile(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b, dir := newBench(t, rdb), t.TempDir()
		write := func(name, content string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		design, _ := readDesign(t, "turns: [{parts: [{text: 'what is {{.text}}?'}, {file: '{{.image}}'}]}]")
		spec := named("pictures")
		spec.Template, spec.Turns = "", design.Turns
		prepare := func(a, c string) *Prepared {
			t.Helper()
			write("r.jsonl", `{"id":"a","text":"`+a+`","image":"a.png"}`+"\n"+`{"id":"b","text":"two","image":"b.png"}`+"\n"+`{"id":"c","text":"`+c+`","image":"c.png"}`+"\n")
			p, err := Prepare(b.ctx, Input{Path: filepath.Join(dir, "r.jsonl")}, spec, PrepareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			return p
		}
		for _, name := range []string{"a.png", "b.png", "c.png"} {
			write(name, png)
		}
		p := prepare("one", "three")
		r, err := b.Enqueue(b.ctx, p, EnqueueOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b.answer(r.Run.ID, p, nil)
		if err := b.DropFiles(b.ctx, r.Run.ID); err != nil {
			t.Fatal(err)
		}
		if n := b.rdb.HLen(b.ctx, fileKey(r.Run.ID)).Val(); n != 3 {
			t.Errorf("%d records are left, want what the three files were", n)
		}
		stand := func(a, c, want string) {
			t.Helper()
			p := prepare(a, c)
			st, err := b.Stand(b.ctx, p, b.lookUp(p, LookUpOptions{}))
			if got := fmt.Sprint(st.Why); err != nil || got != want || st.Stale+st.Same != 3 {
				t.Errorf("%+v (%v), want %s", st, err, want)
			}
		}
		write("b.png", png+"x")
		stand("one", "three", "[{its file b.png changed 1}]")
		stand("one!", "three", "[{its file b.png changed 1} {the rows' fields 1}]")
		write("c.png", png+"y")
		stand("one", "three!", "[{files changed, b.png first 2}]")
	})
}

// TestRowMemory: what is measured of a waiting row is what Redis grows by.
func TestRowMemory(t *testing.T) {
	if realRedis == "" {
		t.Skip("only a real Redis has figures")
	}
	b := newBench(t, redisClient(t))
	run := b.enqueue(named("night"), numbered(400), EnqueueOptions{}).Run.ID
	each, err := b.RowMemory(b.ctx, run)
	if err != nil || each < 300 || each > RowsMemory(1, 30) {
		t.Errorf("%d bytes a row (%v)", each, err)
	}
	for i := range int64(400) { // all were looked at, and wait for a permit
		task := Task{Run: run, Index: i, Gen: 1}
		b.begin(task)
		if err := b.Wait(b.ctx, task, WaitQuota, Waits{}); err != nil {
			t.Fatal(err)
		}
	}
	if waiting, err := b.RowMemory(b.ctx, run); err != nil || waiting < each*9/10 || waiting > RowsMemory(1, 30) {
		t.Errorf("%d bytes a row that waits for its permit, %d before (%v)", waiting, each, err)
	}
	size, err := b.Size(b.ctx, run)
	if err != nil || !size.Exact || size.Redis < 400*30 {
		t.Errorf("%+v (%v)", size, err)
	}
}
