package jobs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestPurgeLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		kept := b.enqueue(named("kept"), numbered(3), EnqueueOptions{}).Run.ID
		gone := b.enqueue(named("gone"), numbered(2000), EnqueueOptions{Have: doneBetween(300, 1500)}).Run.ID
		b.begin(Task{Run: gone, Index: 1500})
		b.finish(Task{Run: gone, Index: 1500}, Done)
		var acknowledged []Task
		for _, e := range halfGood(gone, 300)[10:] {
			b.end(e)
			acknowledged = append(acknowledged, e.Task)
		}
		b.deleteTasks(queueOf(named("gone")), acknowledged)
		if b.fold(gone) == 0 {
			t.Error("nothing is folded")
		}
		b.begin(Task{Run: gone, Index: 7})
		if _, err := b.Purge(b.ctx, gone, PurgeOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, key := range b.rdb.Keys(b.ctx, "*").Val() {
			if strings.Contains(key, gone) && !strings.HasSuffix(key, "-00001500-0") && !strings.HasSuffix(key, "-00000007-0") {
				t.Errorf("left: %s", key) // the two tasks are with handlers, as far as the ledger knew
			}
		}
		if b.finish(Task{Run: gone, Index: 7}, Done) || b.begin(Task{Run: gone, Index: 8}).Outcome != OutcomeStale {
			t.Error("a purged run takes results")
		}
		if _, err := b.Find(b.ctx, "gone"); !errors.Is(err, ErrNoRun) {
			t.Errorf("got %v", err)
		}
		if names, err := b.PurgedNames(b.ctx); err != nil || len(names) != 1 || names[gone] != "gone" {
			t.Errorf("purged were %v (%v)", names, err)
		}
		b.balanced(kept)
	})
}

// TestPurgeDrained: drained files go when that is asked for, others' files beside
// them do not; else they stay and it says where.
func TestPurgeDrained(t *testing.T) {
	b, dir := newBench(t, redisClient(t)), t.TempDir()
	drained := func(name string) (run, path string) {
		t.Helper()
		run = b.enqueue(named(name), numbered(3), EnqueueOptions{}).Run.ID
		b.end(halfGood(run, 3)...)
		return run, b.drain(run, dir).Dir
	}
	run, path := drained("kept")
	if r, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil || r.Rows != 3 || r.Files != 0 || r.Kept != path || len(b.inFiles(path)) != 3 {
		t.Errorf("purged %+v (%v), %d results are left", r, err, len(b.inFiles(path)))
	}
	run, path = drained("gone")
	if r, err := b.Purge(b.ctx, run, PurgeOptions{Drained: true}); err != nil || r.Files != 1 || r.Kept != "" {
		t.Errorf("purged %+v (%v)", r, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory: %v", err)
	}
	run, path = drained("mixed")
	note := filepath.Join(path, "part-of-me.txt")
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Purge(b.ctx, run, PurgeOptions{Drained: true}); err != nil || r.Files != 1 {
		t.Errorf("purged %+v (%v)", r, err)
	}
	if _, err := os.Stat(note); err != nil {
		t.Error(err)
	}
	run, path = drained("away")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	var elsewhere *DrainedElsewhereError
	if _, err := b.Purge(b.ctx, run, PurgeOptions{Drained: true}); !errors.As(err, &elsewhere) || b.balanced(run)[Done] != 2 {
		t.Errorf("got %v, rows %v", err, b.balanced(run))
	}
	if r, err := b.Purge(b.ctx, run, PurgeOptions{}); err != nil || !strings.HasSuffix(r.Kept, ":"+path) {
		t.Errorf("purged %+v (%v)", r, err)
	}
	if left := b.rdb.Keys(b.ctx, "nightshift:jobs:{*").Val(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// doneBetween says that the results of some rows are elsewhere.
func doneBetween(from, to int) func(row, _ string) State {
	return func(row, _ string) State {
		if n, err := strconv.Atoi(row[1:]); err == nil && n >= from && n < to {
			return Done
		}
		return None
	}
}
