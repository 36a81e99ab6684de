package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func result(id, key string, s State) Result {
	return Result{Row: id, Status: s.String(), Output: "answer of " + id, Key: key}
}

func openSink(t *testing.T, path string) *FileSink {
	t.Helper()
	f, err := OpenFileSink(path, FileSinkOptions{Fallback: filepath.Join(filepath.Dir(path), "kept")})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func put(t *testing.T, f *FileSink, rs ...Result) {
	t.Helper()
	for _, r := range rs {
		if err := f.Put(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// lines reads a results file; every line must be a result.
func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range bytes.SplitSeq(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\n'}) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		ids = append(ids, r.Row)
	}
	return ids
}

func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := openSink(t, path)
	put(t, f, result("a", "k1", Done), result("b", "k2", Failed), result("c", "k3", Failed), result("c", "k3", Done), result("d", "k4", Done), result("d", "k4", Blocked))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = openSink(t, path)
	defer f.Close()
	for _, c := range []struct {
		row, key string
		want     State
	}{{"a", "k1", Done}, {"a", "other", None}, {"b", "k2", None}, {"c", "k3", Done}, {"d", "k4", None}, {"e", "k5", None}} {
		if got := f.Have(c.row, c.key); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.row, c.key, got, c.want)
		}
	}
	if f.Known() != 2 {
		t.Errorf("known %d", f.Known())
	}
}

// TestTornTail kills the writer at every byte of the last line.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	f := openSink(t, whole)
	put(t, f, result("a", "k", Done), result("b", "k", Done))
	_ = f.Close()
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(content, '\n') + 1
	for cut := second; cut <= len(content); cut++ {
		path := filepath.Join(dir, fmt.Sprint(cut))
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := []string{"a"}
		if cut >= len(content)-1 { // all but the line feed
			want = append(want, "b")
		}
		_ = openSink(t, path).Close()
		wantEqual(t, lines(t, path), want...)
		f := openSink(t, path)
		put(t, f, result("c", "k", Done))
		_ = f.Close()
		wantEqual(t, lines(t, path), append(want, "c")...)
	}
}

func TestWrongFileIsLeftAlone(t *testing.T) {
	for _, content := range []string{"id,text\na,x\n", "# notes", "{\"other\":1}\n{\"id\":\"a\"}\n"} {
		path := file(t, "rows.csv", []byte(content))
		if _, err := OpenFileSink(path, FileSinkOptions{}); err == nil || !strings.Contains(err.Error(), "right file?") {
			t.Errorf("%q: %v", content, err)
		}
		if after, _ := os.ReadFile(path); string(after) != content {
			t.Errorf("%q became %q", content, after)
		}
	}
}

func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := openSink(t, path)
	var se *SinkError
	if _, err := OpenFileSink(path, FileSinkOptions{}); !errors.As(err, &se) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("second writer: %v", err)
	}
	_ = f.Close()
	g := openSink(t, path)
	_ = g.Close()
}

func TestManyPutters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := openSink(t, path)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if err := f.Put(context.Background(), result(fmt.Sprint(i), "k", Done)); err != nil {
				t.Error(err)
			}
			b, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(b, fmt.Appendf(nil, `"answer of %d"`, i)) {
				t.Errorf("%d is not in the file after Put (%v)", i, err)
			}
		})
	}
	wg.Wait()
	_ = f.Close()
	if n := len(lines(t, path)); n != 200 {
		t.Errorf("%d lines", n)
	}
}

// failing is a file that takes some bytes, then none: a full disk.
type failing struct {
	*os.File
	left int
}

func (w *failing) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return w.File.Write(p)
	}
	n, err := w.File.Write(p[:w.left])
	w.left = 0
	return n, errors.Join(err, syscall.ENOSPC)
}

func TestDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f := openSink(t, path)
	full := &failing{f.file, 400}
	f.out = full
	var se *SinkError
	failed := 0
	for i := range 10 {
		err := f.Put(context.Background(), result(fmt.Sprint(i), "k", Done))
		if err == nil {
			continue
		}
		if !errors.As(err, &se) || !errors.Is(err, syscall.ENOSPC) || se.Kept == "" {
			t.Fatalf("got %v", err)
		}
		failed++
	}
	_ = f.Close()
	if got := lines(t, path); failed == 0 || len(got) != 10-failed {
		t.Errorf("%d refused, the file has %v", failed, got)
	}
	// Room again: what was paid for comes back, once.
	f = openSink(t, path)
	if f.Known() != 10 {
		t.Errorf("known %d after reopening", f.Known())
	}
	_ = f.Close()
	if got := lines(t, path); len(got) != 10 {
		t.Errorf("the file has %v", got)
	}
	if left, _ := os.ReadDir(filepath.Join(filepath.Dir(path), "kept")); len(left) != 0 {
		t.Errorf("left in the fallback: %v", left)
	}
}

func TestDiskFullWithoutFallback(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	f, err := OpenFileSink(path, FileSinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	full := &failing{f.file, 20}
	f.out = full
	var se *SinkError
	if err := f.Put(context.Background(), result("a", "k", Done)); !errors.As(err, &se) || se.Unkept != 1 {
		t.Errorf("got %v", err)
	}
	full.left = 10_000
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(lines(t, path)); got != "[a]" {
		t.Errorf("after Close: %s", got)
	}
}

func TestUnwritableFile(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	f, err := OpenFileSink("/dev/full", FileSinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Put(context.Background(), result("a", "k", Done)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
	var se *SinkError
	if _, err := OpenFileSink(filepath.Join(t.TempDir(), "no", "such", "folder"), FileSinkOptions{}); !errors.As(err, &se) {
		t.Errorf("got %v", err)
	}
}

func TestStdoutSink(t *testing.T) {
	var out bytes.Buffer
	f, err := OpenFileSink("-", FileSinkOptions{Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	put(t, f, result("a", "k", Done), result("b", "k", Done))
	if err := f.Close(); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%q (%v)", out.String(), err)
	}
}

func TestSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	b := newBench(t, redisClient(t))
	run := b.enqueue(named("n"), numbered(5), EnqueueOptions{}).Run.ID
	sp, err := OpenSpool(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if err := sp.Put(Task{Run: run, Index: i}, result(fmt.Sprintf("r%d", i), "k", Done)); err != nil {
			t.Fatal(err)
		}
	}
	b.finish(Task{Run: run, Index: 2}, Failed) // has its end already
	if err := os.WriteFile(filepath.Join(dir, ".tmp-x"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(sp.path(Task{Run: run}))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", st.Mode(), err)
	}

	sp, err = OpenSpool(dir) // the next process
	if err != nil || sp.Len() != 3 {
		t.Fatalf("%d in the spool (%v)", sp.Len(), err)
	}
	if r, ok := sp.Get(Task{Run: run, Index: 1}); !ok || r.Output != "answer of r1" {
		t.Errorf("got %+v, %v", r, ok)
	}
	if _, ok := sp.Get(Task{Run: run, Index: 1, Gen: 1}); ok {
		t.Error("another generation's result")
	}
	gone, cancel := context.WithCancel(b.ctx)
	cancel()
	if left, err := sp.Deliver(gone, b.Store); err == nil || left != 3 {
		t.Errorf("Redis away: %d left (%v)", left, err)
	}
	if left, err := sp.Deliver(b.ctx, b.Store); err != nil || left != 0 {
		t.Errorf("%d left (%v)", left, err)
	}
	if c := b.balanced(run); c[Done] != 2 || c[Failed] != 1 {
		t.Errorf("counts %v", c)
	}
	if r := b.row(run, "r1").Result; r == nil || r.Output != "answer of r1" {
		t.Errorf("result %+v", r)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// TestFileIsTakenAway: a results file that was removed while a run wrote it is
// written anew; one whose name another file has by then keeps its answers for the
// next time.
func TestFileIsTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	f := openSink(t, path)
	put(t, f, result("a", "1", Done))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	put(t, f, result("b", "2", Done))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path); len(got) != 2 {
		t.Errorf("the file has %v, want a and b", got)
	}

	f = openSink(t, path)
	put(t, f, result("c", "3", Done))
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var lost *SinkError
	if err := f.Close(); !errors.As(err, &lost) || lost.Kept == "" {
		t.Fatalf("closing a file that lost its name: %v", err)
	}
	if err := openSink(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path); len(got) != 3 {
		t.Errorf("the file has %v, want a, b and c", got)
	}
}
