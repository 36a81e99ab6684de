package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/goredisstore.v9"
)

// callersRow is how many decisions a second a subject gives to many callers at once.
type callersRow struct {
	name    string
	callers int
	perSec  float64 // median of alternating rounds
	failed  int64   // calls with an error, in all rounds
}

// throttledSubject is throttled on one hot key: a read and a compare-and-swap.
func throttledSubject(rdb *redis.Client) (subject, error) {
	store, err := goredisstore.NewCtx(rdb, "throttled:")
	if err != nil {
		return subject{}, err
	}
	g, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(1_000_000), MaxBurst: 1_000_000})
	return subject{name: "throttled, 1 dimension", decide: func(ctx context.Context, _ int) error {
		_, _, err := g.RateLimitCtx(ctx, "hot", 1)
		return err
	}}, err
}

// contenders are those that are asked by many at once.
func (h *harness) contenders() ([]subject, error) {
	other, err := throttledSubject(h.rdb)
	if err != nil {
		return nil, err
	}
	three, err := h.calls("nightshift, 3 dimensions in a lane", threePlan, 1)
	if err != nil {
		return nil, err
	}
	levels, err := h.calls("nightshift, 5 dimensions × 3 levels, 5 classes", levelsPlan, 1)
	if err != nil {
		return nil, err
	}
	both := three
	both.name += ", and settled"
	both.decide = func(ctx context.Context, i int) error {
		if err := three.decide(ctx, i); err != nil {
			return err
		}
		return three.settle(ctx, i)
	}
	return []subject{h.rateSubject(), other, three, both, levels}, nil
}

// crowd lets callers ask one subject for a while: decisions a second, and failures.
func crowd(ctx context.Context, s subject, callers int, d time.Duration, next *atomic.Int64) (perSec float64, failed int64) {
	var done, bad atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			for time.Since(began) < d {
				if s.decide(ctx, int(next.Add(1))) != nil {
					bad.Add(1)
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(done.Load()-bad.Load()) / time.Since(began).Seconds(), bad.Load()
}

// many measures the contenders by turns at each number of callers.
func (h *harness) many(ctx context.Context, rounds int, d time.Duration) ([]callersRow, error) {
	subjects, err := h.contenders()
	if err != nil {
		return nil, err
	}
	var next atomic.Int64
	var rows []callersRow
	for _, callers := range []int{16, 64} {
		rates, failed := make([][]float64, len(subjects)), make([]int64, len(subjects))
		for range rounds {
			for i, s := range subjects {
				r, bad := crowd(ctx, s, callers, d, &next)
				rates[i], failed[i] = append(rates[i], r), failed[i]+bad
			}
		}
		for i, s := range subjects {
			rows = append(rows, callersRow{s.name, callers, median(rates[i]), failed[i]})
		}
	}
	return rows, nil
}

func printCallers(t *table, rows []callersRow) {
	t.head("Decisions a second on a hot key (medians of alternating rounds)", "limiter", "callers", "decisions/s", "failed calls")
	for _, r := range rows {
		t.row(r.name, strconv.Itoa(r.callers), fmt.Sprintf("%.0f", r.perSec), strconv.FormatInt(r.failed, 10))
	}
}
