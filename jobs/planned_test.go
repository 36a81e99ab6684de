package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestPlanned(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		b := newBench(t, rdb)
		run := b.enqueue(named("n"), numbered(3), EnqueueOptions{}).Run.ID
		expect := func(p Planned) *Planned {
			t.Helper()
			if err := b.Expect(b.ctx, run, p); err != nil {
				t.Fatal(err)
			}
			r, err := b.Load(b.ctx, run)
			if err != nil || r.Planned == nil {
				t.Fatal(r.Planned, err)
			}
			return r.Planned
		}
		if r, _ := b.Load(b.ctx, run); r.Planned != nil {
			t.Errorf("planned %+v before anybody said so", r.Planned)
		}
		end := time.Date(2026, 12, 1, 5, 10, 0, 0, time.UTC)
		first := Planned{Rows: 3, Input: Span{1, 2, 3}, Output: Span{4, 5, 6}, Cost: &Span{7, 8, 9}, Tier: "standard", Source: PlannedCap, Done: end}
		if got := expect(first); got.Rows != 3 || *got.Cost != (Span{7, 8, 9}) || !got.Done.Equal(end) {
			t.Errorf("%+v", got)
		}
		// Rows that are added later come on top; the same enqueue keeps what was said.
		b.enqueue(named("n"), numbered(4), EnqueueOptions{Update: true})
		got := expect(Planned{Rows: 1, Input: Span{1, 1, 1}, Cost: &Span{1, 1, 1}, Source: PlannedLearned, Done: end.Add(time.Hour)})
		if got.Rows != 4 || got.Input != (Span{2, 3, 4}) || *got.Cost != (Span{8, 9, 10}) || got.Source != PlannedLearned || !got.Done.Equal(end.Add(time.Hour)) {
			t.Errorf("%+v, cost %+v", got, got.Cost)
		}
		if got := expect(Planned{Rows: 1}); got.Cost != nil {
			t.Errorf("a part without a price has a sum of %+v", got.Cost)
		}
		if err := b.Expect(b.ctx, "none", first); !errors.Is(err, ErrNoRun) {
			t.Errorf("a run that is not there: %v", err)
		}
	})
}
