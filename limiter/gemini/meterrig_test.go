package gemini

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"nightshift/limiter"
)

// pipeClient connects to an embedded Redis without the network, so that virtual
// time works. Pipelines would deadlock on its unbuffered pipes.
func pipeClient(t *testing.T, m *miniredis.Miniredis) *redis.Client {
	c := redis.NewClient(&redis.Options{
		Dialer:          func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, ConnMaxIdleTime: -1,
	})
	t.Cleanup(func() {
		_ = c.Close()
		m.Close()
	})
	return c
}

var meterScopes atomic.Int64

// meterScope is a scope that no other test uses.
func meterScope() limiter.Scope {
	return limiter.Scope{Provider: "gemini", Project: fmt.Sprintf("meter-%d", meterScopes.Add(1))}
}

// handClock is a clock that a test turns.
type handClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *handClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// meterAt makes a meter whose flusher never comes by itself: the test flushes.
// Its own clock and Redis's are given.
func meterAt(t *testing.T, rdb redis.UniversalClient, scope limiter.Scope, own, redis *handClock, change ...func(*MeterOptions)) *Meter {
	t.Helper()
	opts := MeterOptions{Every: 1000 * time.Hour, Now: own.now, redisNow: redis.now}
	for _, f := range change {
		f(&opts)
	}
	m := NewMeter(rdb, scope, opts)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// readStep reads all that a step keeps.
func readStep(t *testing.T, rdb redis.UniversalClient, scope limiter.Scope, step Step, from, to time.Time) []UsageSample {
	t.Helper()
	got, err := ReadMeter(t.Context(), rdb, scope, step, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sum adds samples up.
func sum(samples []UsageSample) (all UsageSample) {
	for _, s := range samples {
		all.Merge(s)
	}
	return all
}

// goodCall is the record of a call that went well.
func goodCall(scope limiter.Scope, class, feature string) Record {
	r := Record{
		Scope: scope.String(), Lane: scope.String() + "/global/gemini-x", Method: "generateContent",
		Class: class, Feature: feature, Sent: true, Status: 200, Decision: Admitted, TookMS: 100,
	}
	r.Used[limiter.Requests] = 1
	return r
}

// faulty breaks commands as a network does: before they reach Redis, or after
// Redis has done them.
type faulty struct{ before, after func() error }

var errBroken = errors.New("the connection broke")

func (f faulty) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (f faulty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.before != nil {
			if err := f.before(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if f.after != nil && err == nil {
			if err = f.after(); err != nil {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

func (f faulty) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
