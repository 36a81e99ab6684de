package cli

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// engine makes a run's calls: the worker over the one way to Gemini.
type engine struct {
	*outlet
	worker  *worker.Worker
	tokens  atomic.Int64 // of all results so far
	microUS atomic.Int64 // what they cost, where a price is known
}

// count adds a result's usage up, for the line beside the bar.
func (e *engine) count(r jobs.Result) {
	if r.Usage != nil {
		e.tokens.Add(r.Usage.Total)
	}
	if r.MicroUSD != nil {
		e.microUS.Add(*r.MicroUSD)
	}
}

// newEngine wires the way out, its client and the worker; sink and metrics may be nil.
// only is a sample that it is for; the zero Run: it is one of the fleet.
func (b *backend) newEngine(ctx context.Context, sink jobs.Sink, metrics *gemini.Metrics, only jobs.Run) (*engine, error) {
	out, err := b.newOutlet("worker", false, metrics)
	if err != nil {
		return nil, err
	}
	e := &engine{outlet: out}
	e.worker, err = b.newWorker(ctx, out, sink, e.count, only)
	if err != nil {
		out.close(b.log)
		return nil, err
	}
	return e, nil
}

func (b *backend) newWorker(ctx context.Context, out *outlet, sink jobs.Sink, onResult func(jobs.Result), only jobs.Run) (*worker.Worker, error) {
	client, err := gemini.NewClient(ctx, out.transport, b.conf.apiURL())
	if err != nil {
		return nil, err
	}
	spool, err := jobs.OpenSpool(filepath.Join(b.conf.stateDir(), "spool"))
	if err != nil {
		return nil, err
	}
	return worker.New(worker.Config{
		Redis: b.rdb, Store: b.store, Gate: b.lim, Client: client,
		Scope: b.conf.scope(), Models: out.lanes, Only: only,
		Concurrency: b.conf.Worker.Concurrency,
		CallTimeout: b.conf.Worker.CallTimeout, FlexTimeout: b.conf.Worker.FlexTimeout,
		Attempts:  b.conf.Worker.Attempts,
		KeyRemedy: b.conf.keyRemedy(),
		Limits:    digest(b.conf.limiterConfig()),
		Tracer:    ofWorker(out.traces),
		Sink:      sink, Spool: spool, OnResult: onResult, Logger: b.log,
	})
}

// drainTime is the longest that a worker needs to end.
func (c WorkerConfig) drainTime() time.Duration {
	return worker.Config{CallTimeout: c.CallTimeout, FlexTimeout: c.FlexTimeout}.DrainTime()
}
