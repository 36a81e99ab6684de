package worker

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nightshift/jobs"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// line is a worker's way to Redis that a test can cut: connections break and
// new ones are refused.
type line struct {
	mini *miniredis.Miniredis
	mu   sync.Mutex
	cut  bool
	open []net.Conn
}

func (l *line) dial(context.Context, string, string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	c, err := l.mini.Dial()
	if err == nil {
		l.open = append(l.open, c)
	}
	return c, err
}

func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	for _, c := range l.open {
		if cut {
			_ = c.Close()
		}
	}
}

// cuttable gives the rig's workers a client whose line can be cut.
func (r *rig) cuttable() (*line, redis.UniversalClient) {
	l := &line{mini: r.mini}
	c := redis.NewClient(&redis.Options{
		Dialer: l.dial, PoolSize: 100, DialerRetries: 1, MaxRetries: redisRetries, MinRetryBackoff: redisMinBackoff, MaxRetryBackoff: redisMaxBackoff,
		DisableIdentity: true, MaintNotificationsConfig: quiet(), ConnMaxIdleTime: -1,
	})
	c.AddHook(newSpinGuard())
	r.Cleanup(func() { _ = c.Close() })
	return l, c
}

// over gives a worker's configuration over another client.
func (r *rig) over(c redis.UniversalClient) Config {
	cfg := r.config()
	cfg.Redis, cfg.Store = c, jobs.NewStore(c, jobs.StoreOptions{Batch: 1})
	return cfg
}

// TestCallEndsInOutage: a call that ends while Redis is away for some
// seconds is stored and acknowledged afterwards, and not made again.
func TestCallEndsInOutage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(5 * time.Second)
		l, c := r.cuttable()
		run := r.enqueue(4, spec())
		r.start(r.over(c))
		r.until(run, 10*time.Second, "calls are out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 4 })
		pass(time.Second)
		l.set(true)
		pass(15 * time.Second)
		l.set(false)
		r.await(run, 10*time.Second)
		pass(3 * time.Minute) // longer than asynq takes to see a lost lease
		if calls := len(r.sim.Calls()); calls != 4 {
			t.Errorf("%d calls for 4 rows", calls)
		}
		if q := r.queue(jobs.Normal); q.Size != 0 {
			t.Errorf("asynq still has %d tasks", q.Size)
		}
	})
}

// TestLongOutage: a paid answer that Redis cannot take for minutes goes to the
// spool and is delivered; the row is not asked again.
func TestLongOutage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(5 * time.Second)
		l, c := r.cuttable()
		run := r.enqueue(3, spec())
		cfg := r.over(c)
		var err error
		if cfg.Spool, err = jobs.OpenSpool(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		w, _ := r.start(cfg)
		r.until(run, 10*time.Second, "calls are out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 3 })
		pass(time.Second)
		l.set(true)
		pass(4 * time.Minute)
		if n := w.Stats().Spooled; n != 3 {
			t.Errorf("%d results are in the spool, want 3", n)
		}
		l.set(false)
		if c := r.await(run, 30*time.Second); c[jobs.Done] != 3 {
			t.Errorf("rows are %s", tally(c))
		}
		pass(3 * time.Minute)
		if calls := len(r.sim.Calls()); calls != 3 {
			t.Errorf("%d calls for 3 rows", calls)
		}
		if q := r.queue(jobs.Normal); q.Size != 0 {
			t.Errorf("asynq still has %d tasks", q.Size)
		}
	})
}

// TestStopInOutage: a worker with nothing in flight ends within seconds although
// Redis is away, and says nothing about lanes that it does not want any more.
func TestStopInOutage(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		l, c := r.cuttable()
		run := r.enqueue(4, spec())
		_, stop := r.start(r.over(c))
		r.await(run, time.Minute)
		l.set(true)
		pass(20 * time.Second)
		before := strings.Count(r.log.text(), "cannot look for new lanes")
		began := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v to stop", took)
		}
		if after := strings.Count(r.log.text(), "cannot look for new lanes"); after != before {
			t.Errorf("%d lines about new lanes while it stopped", after-before)
		}
		l.set(false)
		if err := c.Ping(context.Background()).Err(); err != nil {
			t.Errorf("the client is of no use any more: %v", err)
		}
	})
}

// frozen is a process that is stopped: its commands hang until it goes on or
// the test ends, when they fail.
type frozen struct {
	mu   sync.Mutex
	thaw chan struct{} // nil while it runs
	dead bool
}

func (f *frozen) freeze() { f.mu.Lock(); f.thaw = make(chan struct{}); f.mu.Unlock() }

func (f *frozen) end(dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thaw != nil {
		close(f.thaw)
	}
	f.thaw, f.dead = nil, dead
}

func (f *frozen) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *frozen) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *frozen) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f.mu.Lock()
		thaw := f.thaw
		f.mu.Unlock()
		if thaw != nil {
			<-thaw
		}
		f.mu.Lock()
		dead := f.dead
		f.mu.Unlock()
		if dead {
			pass(time.Second) // or asynq would spin
			err := errors.New("this process is dead")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// TestKilledWorker: the rows of a worker that died come back within two minutes
// and are done by another; its death counts as an attempt.
func TestKilledWorker(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(5 * time.Second)
		_, c := r.cuttable()
		death := &frozen{}
		c.AddHook(death)
		run := r.enqueue(4, spec())
		r.start(r.over(c))
		defer death.end(true)
		r.until(run, 10*time.Second, "calls are out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 4 })
		death.freeze()
		began := time.Now()
		r.start(r.config())
		if c := r.await(run, 150*time.Second); c[jobs.Done] != 4 {
			t.Errorf("rows are %s", tally(c))
		}
		t.Logf("done %v after the death", time.Since(began))
		for row, res := range r.results(run) {
			if res.Attempts != 2 {
				t.Errorf("%s took %d attempts, want 2: the death counts", row, res.Attempts)
			}
		}
	})
}

// TestStoppedWorkerComesBack: a worker that stood still until its
// lease was lost, and goes on after another took the row over, changes nothing:
// one result, and nothing runs again.
func TestStoppedWorkerComesBack(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		r.slow(20 * time.Second)
		_, c := r.cuttable()
		stop := &frozen{}
		c.AddHook(stop)
		run := r.enqueue(2, spec())
		r.start(r.over(c))
		defer stop.end(false)
		r.until(run, 10*time.Second, "calls are out", func(jobs.Counts) bool { return len(r.sim.Calls()) == 2 })
		stop.freeze()
		r.start(r.config())
		r.until(run, 150*time.Second, "another worker calls", func(jobs.Counts) bool { return len(r.sim.Calls()) == 4 })
		pass(5 * time.Second)
		stop.end(false)
		if c := r.await(run, 30*time.Second); c[jobs.Done] != 2 {
			t.Errorf("rows are %s", tally(c))
		}
		pass(3 * time.Minute)
		if n := len(r.results(run)); n != 2 {
			t.Errorf("%d results", n)
		}
		if calls, q := len(r.sim.Calls()), r.queue(jobs.Normal); calls != 4 || q.Size != 0 {
			t.Errorf("%d calls, asynq has %d tasks; want 4 and none", calls, q.Size)
		}
	})
}
