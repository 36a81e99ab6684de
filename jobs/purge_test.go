package jobs

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestPurgeLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		kept := b.enqueue(named("kept"), numbered(3), EnqueueOptions{}).Run.ID
		gone := b.enqueue(named("gone"), numbered(2000), EnqueueOptions{}).Run.ID
		b.begin(Task{Run: gone, Index: 1500})
		b.finish(Task{Run: gone, Index: 1500}, Done)
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
		b.balanced(kept)
	})
}
