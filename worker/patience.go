package worker

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience ends the retries of commands without a deadline, which are asynq's:
// with Redis away its shutdown would take minutes of them, one after another.
type patience struct {
	mu    sync.Mutex
	ended chan struct{}
}

func newPatience() *patience { return &patience{ended: make(chan struct{})} }

func (p *patience) current() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.ended)
}

// renew lets the client be used on by others once the worker has ended.
func (p *patience) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = make(chan struct{})
}

// over tells whether it has ended.
func (p *patience) over() bool {
	select {
	case <-p.current():
		return true
	default:
		return false
	}
}

// patient is a context without an end of its own that ends with the patience.
type patient struct {
	context.Context
	ended <-chan struct{}
}

func (p patient) Done() <-chan struct{} { return p.ended }

func (p patient) Err() error {
	select {
	case <-p.ended:
		return context.Canceled
	default:
		return nil
	}
}

func (p *patience) bound(ctx context.Context) context.Context {
	if ctx.Done() != nil {
		return ctx // its owner ends it
	}
	return patient{ctx, p.current()}
}

// DialHook leaves dialling as it is.
func (p *patience) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook bounds a command.
func (p *patience) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return next(p.bound(ctx), cmd) }
}

// ProcessPipelineHook bounds a pipeline.
func (p *patience) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(p.bound(ctx), cmds) }
}

// lastPatience is how long a drain goes on without a call or an answer in hand.
// With Redis there it takes a moment.
const lastPatience = 4 * time.Second

// losePatience ends the retries when a drain hangs although nothing is in hand
// that was paid for.
func (w *Worker) losePatience(drained <-chan struct{}) {
	const step = lastPatience / 8
	for idle := time.Duration(0); idle < lastPatience; idle += step {
		select {
		case <-drained:
			return
		case <-time.After(step):
		}
		if w.paid.Load() > 0 {
			idle = -step
		}
	}
	w.patience.end()
}
