package limiter

import (
	"context"
	"sync"
)

// batcher lets many callers share one call: whoever comes while a call is under
// way waits and goes with the next. A lone caller is never made to wait.
type batcher[Q, A any] struct {
	run func([]Q) ([]A, error) // answers in the order of the questions

	mu      sync.Mutex
	running bool
	waiting []*asked[Q, A]
}

// batchSize bounds one call, so that a script never holds Redis for long.
const batchSize = 64

type asked[Q, A any] struct {
	q    Q
	a    A
	err  error
	done chan struct{} // closed when a and err are set
}

// do answers q, or gives ctx's error as soon as ctx ends. Then late is called
// with the answer if one comes after all (nil: not needed).
func (b *batcher[Q, A]) do(ctx context.Context, q Q, late func(A)) (A, error) {
	w := &asked[Q, A]{q: q, done: make(chan struct{})}
	if err := ctx.Err(); err != nil {
		return w.a, err
	}
	b.enter(w)
	select {
	case <-w.done:
		return w.a, w.err
	case <-ctx.Done():
	}
	if !b.leave(w) && late != nil {
		go func() {
			<-w.done
			if w.err == nil {
				late(w.a)
			}
		}()
	}
	var none A
	return none, ctx.Err()
}

func (b *batcher[Q, A]) enter(w *asked[Q, A]) {
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	start := !b.running
	b.running = true
	b.mu.Unlock()
	if start {
		go b.work()
	}
}

// leave takes w back if no call has taken it yet.
func (b *batcher[Q, A]) leave(w *asked[Q, A]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, x := range b.waiting {
		if x == w {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (b *batcher[Q, A]) take() []*asked[Q, A] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), batchSize)
	if n == 0 {
		b.running = false
		b.waiting = nil
		return nil
	}
	batch := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	return batch
}

// work ends when nobody waits.
func (b *batcher[Q, A]) work() {
	for batch := b.take(); batch != nil; batch = b.take() {
		qs := make([]Q, len(batch))
		for i, w := range batch {
			qs[i] = w.q
		}
		as, err := b.run(qs)
		for i, w := range batch {
			if w.err = err; err == nil {
				w.a = as[i]
			}
			close(w.done)
		}
	}
}
