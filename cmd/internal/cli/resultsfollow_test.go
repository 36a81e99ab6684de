package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"
)

// TestFollow: each end is one line, in the order of the ends; a second follower goes on
// after what the file has, and a line that a kill tore is written anew.
func TestFollow(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	path := filepath.Join(t.TempDir(), "out.jsonl")
	end := func(n int64) {
		task := jobs.Task{Run: s.run.ID, Index: n}
		_, err := s.be.store.Finish(t.Context(), task, jobs.Result{Row: fmt.Sprint("r", n), Status: "done", Output: "text"})
		s.check(err)
	}
	follow := func() *follower {
		w := &follower{be: s.be, run: s.run, have: map[lineDigest]lineDigest{}}
		f, err := w.open(path)
		s.check(err)
		t.Cleanup(func() { _ = f.Close() })
		return w
	}
	look := func(w *follower) bool {
		ended, err := w.look(t.Context())
		s.check(err)
		return ended
	}
	has := func(want ...string) {
		t.Helper()
		b, err := os.ReadFile(path)
		s.check(err)
		var ids []string
		for line := range strings.Lines(string(b)) {
			if !strings.HasSuffix(line, "}\n") {
				t.Fatalf("a torn line: %q", line)
			}
			ids = append(ids, rowOf([]byte(line)))
		}
		if strings.Join(ids, " ") != strings.Join(want, " ") {
			t.Errorf("the file has %v, want %v", ids, want)
		}
	}
	end(2)
	w := follow()
	if look(w) {
		t.Error("the run has open rows")
	}
	end(0)
	look(w)
	look(w)
	has(fmt.Sprint("r", 2), fmt.Sprint("r", 0))

	b, err := os.ReadFile(path)
	s.check(err)
	s.check(os.WriteFile(path, b[:len(b)-9], 0o600)) // as a kill in the middle of a write leaves it
	end(1)
	w = follow()
	look(w)
	has(fmt.Sprint("r", 2), fmt.Sprint("r", 0), fmt.Sprint("r", 1))
	_, err = s.be.store.Cancel(t.Context(), s.run.ID)
	s.check(err)
	if !look(w) || w.n != s.run.Rows-1 {
		t.Errorf("ended with %d of %d lines", w.n, s.run.Rows)
	}

	s.check(os.WriteFile(path, []byte("id,text\n1,x\n"), 0o600))
	w = &follower{be: s.be, run: s.run, have: map[lineDigest]lineDigest{}}
	if _, err := w.open(path); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file of something else: %v", err)
	}
}

// TestFollowOtherFields: a row whose fields an update changed is written once more, also
// when they become what they were at first: a row's last line counts.
func TestFollowOtherFields(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	var b strings.Builder
	w := &follower{be: s.be, run: s.run, out: &b, have: map[lineDigest]lineDigest{}}
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for _, price := range []string{"1", "2", "2", "1"} {
		line, err := jobs.Result{Row: "r0", Status: "done", Finished: at, Fields: []byte(`{"price":` + price + `}`)}.Line()
		s.check(err)
		s.check(w.put(line))
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		_, price, _ := strings.Cut(line, `"price":`)
		got = append(got, price[:1])
	}
	if strings.Join(got, " ") != "1 2 1" {
		t.Errorf("written were %v, want 1 2 1", got)
	}
}

// TestResultsCannotBeWritten: the error says where the results are.
func TestResultsCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newSteered(t)
	_, err := s.be.store.Finish(t.Context(), jobs.Task{Run: s.run.ID}, jobs.Result{Row: fmt.Sprint("r", 0), Status: "done", Output: "text"})
	s.check(err)
	full := "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no /dev/full here")
	}
	for _, o := range []*resultsOptions{{Out: full, Format: "csv"}, {Out: full, Format: "jsonl"}, {Out: full, Format: "jsonl", Follow: true}, {Out: "/proc/x.jsonl"}} {
		o.factory = s.f
		err := runResults(context.Background(), o, s.be, s.run)
		if err == nil || !strings.Contains(err.Error(), "still in Redis") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := quietPipe(fmt.Errorf("write: %w", syscall.EPIPE)); err != nil {
		t.Errorf("a reader that has enough: %v", err)
	}
	if err := quietPipe(errors.New("x")); err.Error() != "x" {
		t.Error(err)
	}
}

// rowOf is the id in a line of results.
func rowOf(line []byte) string {
	var r struct {
		Row string `json:"id"`
	}
	_ = json.Unmarshal(line, &r)
	return r.Row
}
