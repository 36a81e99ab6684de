package limiter

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// A slow call: what comes meanwhile goes together with the next one.
func TestBatchesFormWhileACallIsUnderWay(t *testing.T) {
	entered, leave := make(chan []int), make(chan struct{})
	b := &batcher[int, int]{run: func(qs []int) ([]int, error) {
		entered <- qs
		<-leave
		return qs, nil
	}}
	var wg sync.WaitGroup
	ask := func(q int) {
		wg.Go(func() {
			if a, err := b.do(t.Context(), q, nil); a != q || err != nil {
				t.Errorf("%d got %d, %v", q, a, err)
			}
		})
	}
	ask(0)
	if got := <-entered; len(got) != 1 {
		t.Fatalf("a lone caller went with %v", got)
	}
	for q := range batchSize + 5 {
		ask(q + 1)
	}
	b.awaitWaiting(batchSize + 5)
	leave <- struct{}{}
	for _, want := range []int{batchSize, 5} {
		if got := <-entered; len(got) != want {
			t.Fatalf("a call of %d; want %d", len(got), want)
		}
		leave <- struct{}{}
	}
	wg.Wait()
}

// awaitWaiting returns once n callers wait.
func (b *batcher[Q, A]) awaitWaiting(n int) {
	for {
		b.mu.Lock()
		got := len(b.waiting)
		b.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}

func TestBatchLetsCallersGo(t *testing.T) {
	entered, leave := make(chan []int), make(chan struct{})
	b := &batcher[int, int]{run: func(qs []int) ([]int, error) {
		entered <- qs
		<-leave
		return qs, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	late, errs := make(chan int, 1), make(chan error, 2)
	go func() { _, err := b.do(ctx, 1, func(a int) { late <- a }); errs <- err }()
	<-entered
	go func() { _, err := b.do(ctx, 2, func(int) { t.Error("never asked, yet answered") }); errs <- err }()
	b.awaitWaiting(1)
	cancel()
	for range 2 {
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	leave <- struct{}{}
	if a := <-late; a != 1 { // what was granted after all is given back
		t.Fatalf("late answer %d", a)
	}
	if _, err := b.do(ctx, 3, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("a call whose context had ended: %v", err)
	}
}

func TestFallbackIsSaid(t *testing.T) {
	onEach(t, func(b *bench) {
		b.must(b.Configure(b.Context(), Config{Scope: b.scope, Lanes: []LaneConfig{{Lane: b.lane, Limits: Limits{RPM: 1}}},
			Classes: []Class{{Name: "interactive", Fallback: "lite"}, {Name: "bulk"}}}))
		b.granted(b.request("interactive", Amounts{1}))
		if d := b.refused(b.request("interactive", Amounts{1}), ReasonQuota); !d.FallbackAllowed {
			b.Error("interactive has a fallback")
		}
		if d := b.refused(b.request("bulk", Amounts{1}), ReasonQuota); d.FallbackAllowed {
			b.Error("bulk has none")
		}
	})
}

// A lane's state is deleted by hand: the stored limits are written again.
func TestLostLaneIsRestored(t *testing.T) {
	b := newBench(t, "real")
	b.limits(Limits{RPM: 5})
	b.granted(b.request("bulk", Amounts{1}))
	r := b.gate.(*Redis)
	b.must(r.rdb.Del(b.Context(), r.lane(b.lane).keys[1]).Err())
	b.granted(b.request("bulk", Amounts{1}))
}
