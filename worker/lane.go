package worker

import (
	"cmp"
	"context"
	"sync"
	"time"

	"nightshift/jobs"
	"nightshift/limiter"

	"github.com/hibiken/asynq"
)

const (
	// lanesEvery is how often a worker looks for new lanes.
	lanesEvery = 2 * time.Second
	// taskCheck is how often asynq looks at an empty queue.
	taskCheck = 150 * time.Millisecond
	// forwardCheck is how often asynq looks for tasks that are due. Due times
	// are whole seconds, and pulled jobs do not need it.
	forwardCheck = time.Second
)

// queueWeights share a lane's dequeues; its permits are shared by the limiter.
var queueWeights = map[jobs.Priority]int{jobs.High: 6, jobs.Normal: 3, jobs.Low: 1}

// lane serves one lane's queues. asynq fixes a server's queues when it is made:
// hence one server for each lane.
type lane struct {
	w      *Worker
	name   string
	lane   limiter.Lane
	slots  *slots
	server *asynq.Server
	pulls  sync.WaitGroup
	notice notices
	health health
	recent lastCalls
	way    way
	holds  holds
	flex   flex
}

// watchLanes starts a server for each lane that has queues, as they appear.
func (w *Worker) watchLanes(ctx context.Context) {
	for {
		w.findLanes(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lanesEvery):
		}
	}
}

func (w *Worker) findLanes(ctx context.Context) {
	names, err := w.cfg.Store.Lanes(ctx)
	if err != nil && (ctx.Err() != nil || w.stopping.Err() != nil) {
		return // no lane is taken up any more
	}
	if err != nil {
		w.cfg.Logger.Warn("cannot look for new lanes; those known are served on", "err", err)
		return
	}
	for _, name := range names {
		if err := w.serve(name); err != nil {
			w.cfg.Logger.Error("lane is not served", "lane", name, "err", err)
		}
	}
}

// serve starts a lane that is ours and not served yet.
func (w *Worker) serve(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lanes[name] != nil || w.stopping.Err() != nil {
		return nil
	}
	parsed, err := limiter.ParseLane(name)
	if err != nil {
		return err
	}
	if (w.cfg.Scope != limiter.Scope{}) && parsed.Scope() != w.cfg.Scope || !w.serves(name) {
		return nil
	}
	l := &lane{w: w, name: name, lane: parsed, slots: newSlots(w.cfg.Concurrency)}
	if err := l.start(); err != nil {
		return err
	}
	w.lanes[name] = l
	w.cfg.Logger.Info("lane is served", "lane", name, "calls", w.cfg.Concurrency)
	return nil
}

func (l *lane) start() error {
	l.server = asynq.NewServerFromRedisClient(l.w.cfg.Redis, l.asynqConfig())
	if err := l.server.Start(l); err != nil {
		return err
	}
	p := &puller{gate: l.w.cfg.Gate, rdb: l.w.cfg.Redis, lane: l.lane, free: l.wanted, others: func() int { return l.w.registry.serving(l.name) }, log: l.w.cfg.Logger, now: l.w.cfg.Now, late: map[string]late{},
		homes: map[string][]string{jobs.Queue(jobs.High, l.name): {jobs.SampleQueue(l.name)}}}
	l.pulls.Go(func() { p.run(l.w.stopping) })
	l.pulls.Go(func() { l.lineUp(l.w.stopping) })
	return nil
}

func (l *lane) asynqConfig() asynq.Config {
	return asynq.Config{
		Concurrency:              l.slots.size() + sweepSlots,
		Queues:                   l.weights(),
		TaskCheckInterval:        cmp.Or(l.w.cfg.poll, taskCheck),
		DelayedTaskCheckInterval: forwardCheck,
		ShutdownTimeout:          l.w.cfg.shutdownTime(),
		IsFailure:                isFailure,
		RetryDelayFunc:           retryDelay,
		ErrorHandler:             asynq.ErrorHandlerFunc(l.taskError),
		Logger:                   asynqLogger{l.w.cfg.Logger},
		LogLevel:                 asynqLevel(l.w.cfg.Logger),
	}
}

// taskError hears of every task that did not end well. Waits and failures are
// in the ledger and in the counters; what asynq itself found is worth a line.
func (l *lane) taskError(ctx context.Context, _ *asynq.Task, err error) {
	if isOurs(err) {
		return
	}
	id, _ := asynq.GetTaskID(ctx)
	l.w.cfg.Logger.Warn("task did not end", "task", id, "lane", l.name, "err", err)
}

func (l *lane) shutdown() {
	l.pulls.Wait()
	l.server.Stop()
	l.server.Shutdown()
}
