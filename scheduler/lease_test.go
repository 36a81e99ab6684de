package scheduler

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// embedded is a Redis in virtual time whose keys expire.
func embedded(ctx context.Context, t *testing.T) (connect func() redis.UniversalClient) {
	m := miniredis.NewMiniRedis()
	t.Cleanup(m.Close)
	go func() {
		for ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
			m.FastForward(100 * time.Millisecond)
		}
	}()
	return func() redis.UniversalClient {
		c := redis.NewClient(&redis.Options{
			Dialer:          func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
			DisableIdentity: true, ConnMaxIdleTime: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// terms notes who led when, and fails when two lead at once.
type terms struct {
	t  *testing.T
	mu sync.Mutex

	leading string
	order   []string
	fences  []int64
	since   time.Time
}

func (s *terms) lead(name string) func(context.Context, int64) {
	return func(ctx context.Context, fence int64) {
		s.mu.Lock()
		if s.leading != "" {
			s.t.Errorf("%s leads while %s does", name, s.leading)
		}
		s.leading, s.since = name, time.Now()
		s.order, s.fences = append(s.order, name), append(s.fences, fence)
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		s.leading = ""
		s.mu.Unlock()
	}
}

func (s *terms) now() (leading string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leading, s.since
}

// outage makes one client's commands fail while it is cut off.
type outage struct {
	mu  sync.Mutex
	off bool
}

func (o *outage) cut(off bool) { o.mu.Lock(); o.off = off; o.mu.Unlock() }

func (o *outage) DialHook(next redis.DialHook) redis.DialHook { return next }
func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		o.mu.Lock()
		off := o.off
		o.mu.Unlock()
		if off {
			return errors.New("cut off")
		}
		return next(ctx, cmd)
	}
}

// TestStandbyTakesOver: a leader that leaves hands over at once; one that is cut
// off stops leading before another begins, which it does within ten seconds.
func TestStandbyTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		connect := embedded(ctx, t)
		s := &terms{t: t}
		cutA := &outage{}
		a := connect()
		a.AddHook(cutA)
		var all sync.WaitGroup
		all.Go(func() { Lease{Redis: a, Name: "x", Owner: "a"}.Lead(ctx, s.lead("a")) })
		pass(time.Second)
		leaveB, stopB := context.WithCancel(ctx)
		all.Go(func() { Lease{Redis: connect(), Name: "x", Owner: "b"}.Lead(leaveB, s.lead("b")) })
		pass(30 * time.Second)

		cut := time.Now()
		cutA.cut(true)
		pass(10 * time.Second)
		leading, since := s.now()
		if leading != "b" {
			t.Fatalf("%q leads ten seconds after the leader was cut off, want b", leading)
		}
		t.Logf("b took over after %v", since.Sub(cut))
		cutA.cut(false)
		stopB()
		pass(2 * time.Second) // b's lease is released, so a need not wait for its end
		cancel()
		all.Wait()
		if want := []string{"a", "b", "a"}; !slices.Equal(s.order, want) {
			t.Errorf("leaders %v, want %v", s.order, want)
		}
		if !slices.IsSorted(s.fences) || len(slices.Compact(slices.Clone(s.fences))) != len(s.fences) {
			t.Errorf("fences %v do not grow", s.fences)
		}
	})
}

// TestForeignLease: a lease is only renewed and released by its owner.
func TestForeignLease(t *testing.T) {
	rdb := realRedis(t)
	ctx := t.Context()
	a := Lease{Redis: rdb, Name: "x", Owner: "a", TTL: time.Minute}
	b := Lease{Redis: rdb, Name: "x", Owner: "b", TTL: time.Minute}
	first, err := a.take(ctx)
	if err != nil || first == 0 {
		t.Fatalf("a: fence %d, err %v", first, err)
	}
	if again, err := a.take(ctx); err != nil || again != first {
		t.Errorf("renewal: fence %d, err %v, want %d", again, err, first)
	}
	if got, err := b.take(ctx); err != nil || got != 0 {
		t.Errorf("b got fence %d, err %v, while a holds", got, err)
	}
	b.release()
	if got := rdb.Get(ctx, leaseKeys("x")[0]).Val(); got != "a" {
		t.Errorf("after b's release the lease is %q's, want a's", got)
	}
	a.release()
	if got, err := b.take(ctx); err != nil || got <= first {
		t.Errorf("b after a's release: fence %d, err %v, want more than %d", got, err, first)
	}
}
