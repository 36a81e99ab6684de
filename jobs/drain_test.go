package jobs

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// inFiles reads a run's drained files as anybody's program would.
func (b *bench) inFiles(dir string) map[string]string {
	b.t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "part-*.jsonl.gz"))
	got := map[string]string{}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			b.t.Fatal(err)
		}
		zr, err := gzip.NewReader(f)
		if err != nil {
			b.t.Fatal(err)
		}
		lines := bufio.NewScanner(zr)
		for lines.Scan() {
			var r Result
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				b.t.Fatal(err)
			}
			if got[r.Row] != "" {
				b.t.Errorf("row %s is in the files twice", r.Row)
			}
			got[r.Row] = r.Status + " " + r.Output
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			b.t.Fatal(err)
		}
	}
	return got
}

func (b *bench) drain(run, dir string) DrainReport {
	b.t.Helper()
	r, err := b.Drain(b.ctx, run, dir)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) trim(run string) int64 {
	b.t.Helper()
	n, err := b.Trim(b.ctx, run)
	if err != nil {
		b.t.Fatal(err)
	}
	b.bytes(run)
	return n
}

// halfGood are the ends of a run's first n rows.
func halfGood(run string, n int64) []ending {
	var es []ending
	for i := range n {
		es = append(es, ended(Task{Run: run, Index: i}, []State{Done, Failed}[i%2], fmt.Sprint("answer ", i)))
	}
	return es
}

// TestDrain: results go to files that anybody can read, are taken out of Redis,
// and are read from there as before; what is done again replaces its line.
func TestDrain(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b, dir := newBench(t, rdb), t.TempDir()
		b.opts.Batch = 400
		run := b.enqueue(named("n"), numbered(600), EnqueueOptions{}).Run.ID
		b.end(halfGood(run, 599)...)
		want := b.outputs(run)
		if n := b.trim(run); n != 0 {
			t.Errorf("trimmed %d bytes that are in no file", n)
		}
		r := b.drain(run, dir) // not the last chunk, which has an open row
		if r.Rows != 512 || r.Parts != 1 || r.Total != 512 || len(b.inFiles(r.Dir)) != 512 {
			t.Errorf("drained %+v", r)
		}
		b.same(run, want)
		before := b.bytes(run)
		if n := b.trim(run); n == 0 || n != before-b.bytes(run) || b.trim(run) != 0 {
			t.Errorf("trimmed %d", n)
		}
		b.same(run, want)
		if r := b.row(run, "r42"); r.Result == nil || r.Result.Output != "answer 42" {
			t.Errorf("row is %+v", r)
		}
		if n, err := b.Retry(b.ctx, run, RetryFilter{Causes: []string{"because"}, Rows: []string{"r41"}}); err != nil || n != 1 {
			t.Fatalf("retried %d (%v)", n, err)
		}
		b.end(ended(Task{Run: run, Index: 41, Gen: 1}, Done, "better"))
		b.end(ended(Task{Run: run, Index: 599}, Done, "last"))
		want = b.outputs(run)
		if want["r41"] != "done better" || len(want) != 600 {
			t.Errorf("%d results, r41 is %q", len(want), want["r41"])
		}
		if r = b.drain(run, dir); r.Rows != 89 || r.Total != 600 {
			t.Errorf("drained %+v", r)
		}
		if r = b.drain(run, dir); r.Rows != 0 || r.Parts != 0 || r.Total != 600 {
			t.Errorf("drained once more: %+v", r)
		}
		if b.trim(run); b.bytes(run) != 0 {
			t.Errorf("%d bytes are left", b.bytes(run))
		}
		b.same(run, want)
		if got := b.inFiles(r.Dir); len(got) != 600 || got["r41"] != "done better" {
			t.Errorf("%d rows in the files, r41 is %q", len(got), got["r41"])
		}
		m, err := readManifest(r.Dir)
		if err != nil || m.Rows != 600 || len(m.Parts) != 1 || m.Parts[0].Rows != 600 || m.Run != run || m.Updated.IsZero() {
			t.Errorf("the manifest says %+v (%v)", m, err)
		}
	})
}

// allBut says that the results of all rows but these are elsewhere.
func allBut(ends ...int64) func(row, _ string) State {
	open := map[string]bool{}
	for _, i := range ends {
		open[fmt.Sprint("r", i)] = true
	}
	return func(row, _ string) State {
		if open[row] {
			return None
		}
		return Done
	}
}

// TestDrainParts: each file has the rows that its name stands for.
func TestDrainParts(t *testing.T) {
	const rows = rowsPerFold*foldsPerPart + 300
	b, dir := newBench(t, redisClient(t)), t.TempDir()
	b.opts.Batch = 1000
	ends := []int64{0, 5000, rowsPerFold*foldsPerPart - 1, rowsPerFold * foldsPerPart, rows - 1}
	run := b.enqueue(named("n"), numbered(rows), EnqueueOptions{Have: allBut(ends...)}).Run.ID
	for _, i := range ends {
		b.end(ended(Task{Run: run, Index: i}, Done, fmt.Sprint("answer ", i)))
	}
	r := b.drain(run, dir)
	b.trim(run)
	m, err := readManifest(r.Dir)
	if err != nil || len(m.Parts) != 2 || m.Parts[0].Rows != 3 || m.Parts[1].Rows != 2 || m.Parts[1].First != rowsPerFold*foldsPerPart || m.Parts[1].File != "part-00002.jsonl.gz" {
		t.Errorf("the manifest says %+v (%v)", m, err)
	}
	for _, i := range ends {
		if got := b.row(run, fmt.Sprint("r", i)); got.Result == nil || got.Result.Output != fmt.Sprint("answer ", i) {
			t.Errorf("row %d is %+v", i, got)
		}
	}
}

// TestDrainedElsewhere: whoever does not see the files is told where they are;
// what is in Redis is still read, and nothing is trimmed or drained anew.
func TestDrainedElsewhere(t *testing.T) {
	b, dir := newBench(t, redisClient(t)), t.TempDir()
	run := b.enqueue(named("n"), numbered(2), EnqueueOptions{}).Run.ID
	b.end(ended(Task{Run: run, Index: 0}, Failed, "bad"))
	b.end(ended(Task{Run: run, Index: 1}, Done, "good"))
	b.drain(run, dir)
	moved := t.TempDir()
	if err := os.Rename(filepath.Join(dir, run), filepath.Join(moved, run)); err != nil {
		t.Fatal(err)
	}
	elsewhere := func(err error) {
		t.Helper()
		var e *DrainedElsewhereError
		host, _ := os.Hostname()
		if !errors.As(err, &e) || e.Host != host || e.Dir != filepath.Join(dir, run) || !strings.Contains(err.Error(), "are in "+e.Dir+" on host "+host) {
			t.Errorf("got %v", err)
		}
	}
	if len(b.outputs(run)) != 2 {
		t.Error("what is in Redis is not read")
	}
	_, err := b.Trim(b.ctx, run)
	elsewhere(err)
	_, err = b.Drain(b.ctx, run, dir)
	elsewhere(err)
	_, err = b.Drain(b.ctx, run, t.TempDir())
	elsewhere(err)

	b.opts.Drained = moved
	b.trim(run)
	if got := b.outputs(run); got["r1"] != "done good" || len(got) != 2 {
		t.Errorf("read %v", got)
	}
	b.opts.Drained = ""
	elsewhere(b.Results(b.ctx, run, ResultsOptions{}, func(Result) error { return nil }))
	row, err := b.Row(b.ctx, run, "r1")
	elsewhere(err)
	if row.State != Done {
		t.Errorf("of the row it says %+v", row)
	}
	_, err = b.Retry(b.ctx, run, RetryFilter{Causes: []string{"because"}})
	elsewhere(err)
	if n, err := b.Retry(b.ctx, run, RetryFilter{}); n != 1 || err != nil {
		t.Errorf("retried %d (%v)", n, err)
	}
}

// TestDamagedPart: a file that was cut short is an error that names it, and
// nothing is trimmed or written on its word.
func TestDamagedPart(t *testing.T) {
	b, dir := newBench(t, redisClient(t)), t.TempDir()
	run := b.enqueue(named("n"), numbered(2), EnqueueOptions{}).Run.ID
	b.end(ended(Task{Run: run, Index: 0}, Failed, "bad"))
	b.end(ended(Task{Run: run, Index: 1}, Done, "good"))
	path := filepath.Join(b.drain(run, dir).Dir, partName(0))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Trim(b.ctx, run); n != 0 || size > 0 && !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("cut to %d: trimmed %d (%v)", size, n, err)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	b.trim(run)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := b.Results(b.ctx, run, ResultsOptions{}, func(Result) error { return nil }); !strings.Contains(fmt.Sprint(err), path) {
		t.Errorf("got %v", err)
	}
}

// dying is a client whose process is killed after so many commands.
type dying struct{ left int }

var errKilled = errors.New("killed")

func (d *dying) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *dying) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.left--; d.left < 0 {
			cmd.SetErr(errKilled)
			return errKilled
		}
		return next(ctx, cmd)
	}
}

// TestDrainKilledAnywhere: whichever command is the last of a process that folds,
// drains and trims, nothing is lost or doubled, and another one does the rest.
func TestDrainKilledAnywhere(t *testing.T) {
	for left := 0; ; left++ {
		rdb := redisClient(t)
		b, dir := newBench(t, rdb), t.TempDir()
		b.opts.Batch = 400
		run := b.enqueue(named("n"), numbered(300), EnqueueOptions{Have: allBut(0, 1, 2, 298, 299)}).Run.ID
		for _, i := range []int64{0, 1, 2, 298, 299} {
			b.end(ended(Task{Run: run, Index: i}, []State{Done, Failed}[i%2], fmt.Sprint("answer ", i)))
		}
		want := b.outputs(run)
		doomed := redis.NewClient(rdb.(*redis.Client).Options())
		doomed.AddHook(&dying{left})
		err := drainAndTrim(b.ctx, NewStore(doomed, b.opts), run, dir)
		_ = doomed.Close()
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		b.bytes(run)
		b.same(run, want)
		if err2 := drainAndTrim(b.ctx, b.Store, run, dir); err2 != nil || b.bytes(run) != 0 {
			t.Fatalf("killed after %d: %v, %d bytes are left", left, err2, b.bytes(run))
		}
		b.same(run, want)
		if got := b.inFiles(filepath.Join(dir, run)); len(got) != 5 {
			t.Fatalf("killed after %d: %d rows in the files", left, len(got))
		}
		if err == nil {
			if left < 10 {
				t.Errorf("%d commands do all: nothing was tried", left)
			}
			return
		}
	}
}

func drainAndTrim(ctx context.Context, s *Store, run, dir string) error {
	if _, err := s.Drain(ctx, run, dir); err != nil {
		return err
	}
	_, err := s.Trim(ctx, run)
	return err
}
