// Package worker makes the calls: it takes rows' tasks off asynq's queues, asks
// for a permit by calling Gemini through the governed transport, and decides
// what becomes of each row: an end, another attempt, or a wait that counts as
// nothing. Each lane has an asynq server and call slots of its own, started
// when the lane appears.
//
// It keeps no state of its own: rows are the ledger's (package jobs), quota is
// the limiter's, and a worker may be killed at any moment.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"

	"github.com/redis/go-redis/v9"
	"google.golang.org/genai"
)

// Config is what a worker is made of. Redis, Store, Gate and Client are needed.
type Config struct {
	Redis  redis.UniversalClient // from PatientClient; asynq, the fleet and aborts use it
	Store  *jobs.Store
	Gate   Gate          // the limiter that the client's transport asks for permits
	Client *genai.Client // over a gemini.Transport, with no retries of its own

	// Scope is the provider project whose lanes are served: the client has one
	// project's key. Zero serves all lanes.
	Scope limiter.Scope
	// Only is a run whose rows alone are made, of its own queue (jobs.Spec.Queue): a
	// sample's. Such a worker is none of the fleet: nobody may count on it. The zero
	// Run: all rows of the lanes that are served.
	Only jobs.Run
	// Concurrency is the number of calls in flight per lane in this process.
	// Default 32.
	Concurrency int
	// CallTimeout bounds one call. Default 4 min: less than a permit's lease
	// (limiter.DefaultLease) and a task's timeout. A drain takes as long.
	CallTimeout time.Duration
	// FlexTimeout bounds one call by the flex tier, where it is longer. Default 15 min,
	// the longest that flex is said to take.
	FlexTimeout time.Duration
	// Attempts is how often a row is tried when its run does not say. Default 5.
	Attempts int

	// Models knows how much output a model gives, for runs whose cap may grow.
	// Optional: gemini.DefaultMaxOutput without it.
	Models *gemini.LaneMap

	// Limits is the revision (a digest) of the limits that this process was
	// configured with, so that a fleet that does not agree can be told. Optional.
	Limits string

	// KeyRemedy is what to tell people when the provider refuses the API key:
	// where a new one goes. Optional.
	KeyRemedy string

	Sink     jobs.Sink         // takes each result before Redis does; optional. When it fails the worker stops
	Spool    *jobs.Spool       // keeps results that Redis refuses; optional, but without it such an answer is paid for again
	OnResult func(jobs.Result) // called after a result was stored, by several goroutines; optional, must be quick
	Tracer   Tracer            // follows rows; optional, and nothing is done for it without one
	Logger   *slog.Logger      // nothing is logged when nil
	Now      func() time.Time  // nil means time.Now

	poll time.Duration // replaces taskCheck in tests of many virtual minutes
}

// DefaultFlexTimeout is how long a call by the flex tier may take
// (https://ai.google.dev/gemini-api/docs/flex-inference).
const DefaultFlexTimeout = 15 * time.Minute

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Redis == nil:
		return c, errors.New("worker: Redis is missing")
	case c.Store == nil:
		return c, errors.New("worker: Store is missing")
	case c.Gate == nil:
		return c, errors.New("worker: Gate is missing")
	case c.Client == nil:
		return c, errors.New("worker: Client is missing")
	}
	c.Concurrency = cmp.Or(max(c.Concurrency, 0), 32)
	c.CallTimeout = cmp.Or(max(c.CallTimeout, 0), 4*time.Minute)
	c.FlexTimeout = cmp.Or(max(c.FlexTimeout, 0), DefaultFlexTimeout)
	c.Attempts = cmp.Or(max(c.Attempts, 0), 5)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// shutdownTime is longer than the longest call and its storing, or asynq would hand a
// task to somebody else while its call is being paid for.
func (c Config) shutdownTime() time.Duration { return c.longestCall() + storeTimeout + time.Minute }

// leaveTime bounds what a worker does when its lanes have ended.
const leaveTime = 5 * time.Second

// DrainTime is the longest that Run goes on after its context has ended: whoever kills
// the process earlier may lose an answer that was paid for. Mostly it is as long as a
// call. It wants CallTimeout and FlexTimeout.
func (c Config) DrainTime() time.Duration { return c.shutdownTime() + leaveTime }

// Worker serves lanes until its context ends.
type Worker struct {
	cfg      Config
	runs     *runCache
	files    *fileCache
	aborts   *aborts
	registry *registry
	stats    counters
	info     WorkerInfo // id, host, pid, started

	patience *patience
	paid     atomic.Int64       // rows with a call that went out, or its answer, in hand
	handlers sync.WaitGroup     // handlers, not asynq's slots: a handler may outlive those
	inHand   sync.Map           // task ids that have a handler
	stopping context.Context    // ends when the drain begins
	stop     context.CancelFunc //
	failed   chan error         // why the worker has to stop by itself; holds one

	mu    sync.Mutex
	lanes map[string]*lane // by name
}

// New makes a worker. Run starts it.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Worker{
		cfg:    cfg,
		runs:   newRunCache(cfg.Store, cfg.Now),
		files:  newFileCache(filesKept),
		aborts: newAborts(cfg.Redis, cfg.Now),
		lanes:  map[string]*lane{},
		failed: make(chan error, 1),
		info:   identity(cfg.Now()),

		patience: newPatience(),
	}
	cfg.Redis.AddHook(w.patience)
	cfg.Redis.AddHook(unwritable{})
	w.stopping, w.stop = context.WithCancel(context.Background())
	w.info.Project, w.info.Limits = cfg.Scope.Project, cfg.Limits
	w.registry = &registry{rdb: cfg.Redis, self: w.Info}
	return w, nil
}

// identity tells workers apart, also several in one process.
func identity(now time.Time) WorkerInfo {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	id := fmt.Sprintf("%s:%d:%x", host, os.Getpid(), b)
	return WorkerInfo{ID: id, Host: host, PID: os.Getpid(), Started: now.UTC()}
}

// Info is this worker as the fleet sees it.
func (w *Worker) Info() WorkerInfo {
	info := w.info
	info.Draining = w.stopping.Err() != nil
	info.Done, info.Bad = w.stats.done.Load(), w.stats.bad.Load()
	info.Retries, info.Waits = w.stats.retries.Load(), w.stats.waited.Load()
	now := w.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, l := range w.lanes {
		info.Lanes = append(info.Lanes, LaneInfo{Lane: name, Slots: l.slots.size(), Busy: l.slots.busy(), Trouble: l.way.trouble(), Failing: l.recent.trouble(now)})
	}
	return info
}

// Run serves the lanes that have queues, and those that get some later, until
// the context ends; then it drains: no new task is taken, calls in flight end
// and are stored. It returns nil after a drain, or what made it stop by itself
// (a *jobs.SinkError, say). A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var loops sync.WaitGroup
	all := []func(context.Context){w.aborts.run, w.deliverSpool, w.watchLanes, w.tellFailing}
	if w.all() {
		all = append(all, w.registry.run)
	}
	for _, loop := range all {
		loops.Go(func() { loop(background) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-w.failed:
	}
	w.drain()
	cancel()
	loops.Wait()
	w.leave()
	return err
}

// drain stops in this order: no more pulls, no more tasks, then the calls in
// flight. The lanes go together, since each may take as long as a call.
func (w *Worker) drain() {
	w.stop()
	w.mu.Lock()
	lanes := make([]*lane, 0, len(w.lanes))
	for _, l := range w.lanes {
		lanes = append(lanes, l)
	}
	w.mu.Unlock()
	drained := make(chan struct{})
	var all, watch sync.WaitGroup
	watch.Go(func() { w.losePatience(drained) })
	for _, l := range lanes {
		all.Go(l.shutdown)
	}
	all.Wait()
	w.handlers.Wait()
	close(drained)
	watch.Wait()
}

// leave takes the worker off the fleet's list and hands the spool's results in.
func (w *Worker) leave() {
	limit := leaveTime
	if w.patience.over() {
		limit = time.Second // Redis is away
		defer w.patience.renew()
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := w.registry.leave(ctx); err != nil {
		w.cfg.Logger.Debug("the fleet's list still names this worker for a while", "err", err)
	}
	w.deliverOnce(ctx)
}

// fail makes the worker stop by itself. The first reason counts.
func (w *Worker) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}
