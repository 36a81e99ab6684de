package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// abortFor is how long an abort is remembered: longer than any call.
const abortFor = 15 * time.Minute

// errAborted is why an aborted call's context ended.
var errAborted = errors.New("the run was cancelled or paused with --now")

// Abort makes all workers drop the calls of a run that are in flight, within
// about a second. Their estimates stay charged, since the provider may have
// counted them. Their rows come again, without blame, unless they were cancelled
// before (Store.Cancel) or the run is paused.
func Abort(ctx context.Context, rdb redis.UniversalClient, run string, now time.Time) error {
	old := strconv.FormatInt(now.Add(-abortFor).UnixMilli(), 10)
	if err := rdb.ZRemRangeByScore(ctx, abortsKey, "-inf", old).Err(); err != nil {
		return fmt.Errorf("aborting run %s: %w", run, err)
	}
	if err := rdb.ZAdd(ctx, abortsKey, redis.Z{Member: run, Score: float64(now.UnixMilli())}).Err(); err != nil {
		return fmt.Errorf("aborting run %s: %w", run, err)
	}
	return nil
}

// aborts ends calls of aborted runs. Calls that began after an abort go on:
// the run may have been retried since.
type aborts struct {
	rdb redis.UniversalClient
	now func() time.Time

	mu    sync.Mutex
	calls map[*flight]struct{}
}

// flight is one call that may be aborted.
type flight struct {
	run   string
	began time.Time
	end   context.CancelCauseFunc
}

func newAborts(rdb redis.UniversalClient, now func() time.Time) *aborts {
	return &aborts{rdb: rdb, now: now, calls: map[*flight]struct{}{}}
}

// watch gives the context of a call of the run; done must be called.
func (a *aborts) watch(ctx context.Context, run string) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	f := &flight{run: run, began: a.now(), end: end}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[f] = struct{}{}
	return ctx, func() {
		a.mu.Lock()
		delete(a.calls, f)
		a.mu.Unlock()
		end(nil)
	}
}

func (a *aborts) run(ctx context.Context) {
	for {
		if a.busy() {
			a.check(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func (a *aborts) busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls) > 0
}

// check asks Redis for aborts; with Redis away none can be given either.
func (a *aborts) check(ctx context.Context) {
	since := strconv.FormatInt(a.now().Add(-abortFor).UnixMilli(), 10)
	list, err := a.rdb.ZRangeByScoreWithScores(ctx, abortsKey, &redis.ZRangeBy{Min: since, Max: "+inf"}).Result()
	if err != nil || len(list) == 0 {
		return
	}
	at := make(map[string]time.Time, len(list))
	for _, z := range list {
		run, _ := z.Member.(string)
		at[run] = time.UnixMilli(int64(z.Score))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for f := range a.calls {
		if when, ok := at[f.run]; ok && !f.began.After(when) {
			f.end(errAborted)
		}
	}
}
