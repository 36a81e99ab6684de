package dashboard

import (
	"context"
	"sync"
	"time"
)

// loadFor is how long what was read for one serves others too.
const (
	loadFor   = time.Second
	mostLoads = 200
)

// loads lets several who want the same at once read it once.
type loads struct {
	mu sync.Mutex
	of map[string]*oneLoad // guarded by mu
}

type oneLoad struct {
	began time.Time
	done  chan struct{} // closed when data and err are there
	data  any
	err   error
}

// get gives what load reads, or what it read for somebody else a moment ago. The
// reading goes on when the one who began it leaves: others may wait for it. load bounds
// itself.
func (l *loads) get(ctx context.Context, key string, now time.Time, load func(context.Context) (any, error)) (any, error) {
	x, mine := l.take(key, now)
	if mine {
		go func() {
			defer close(x.done)
			x.data, x.err = load(context.WithoutCancel(ctx))
		}()
	}
	select {
	case <-x.done:
		return x.data, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *loads) take(key string, now time.Time) (x *oneLoad, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x = l.of[key]
	if x != nil && now.Sub(x.began).Abs() < loadFor {
		return x, false
	}
	if l.of == nil || len(l.of) >= mostLoads {
		l.of = map[string]*oneLoad{}
	}
	x = &oneLoad{began: now, done: make(chan struct{})}
	l.of[key] = x
	return x, true
}

// forget makes the next one read anew.
func (l *loads) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of = nil
}
