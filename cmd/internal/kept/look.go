// Package kept has one look at something serve all who want it: what takes the longer
// the larger a fleet is, is read beside the pages that show it, not by each of them.
package kept

import (
	"context"
	"sync"
	"time"
)

// Look is what was seen last. What it holds is not changed by those who get it. The zero
// value works, and is safe for concurrent use.
type Look[T any] struct {
	mu      sync.Mutex // held while one who waits looks: who comes meanwhile wants the same
	last    T
	at      time.Time     // of the last look's beginning; zero: there is none, or it no longer holds
	good    time.Duration // so old may a look be that is kept; 0 while none is
	changes int
}

// Get gives a look that is no older than that, or makes one.
func (l *Look[T]) Get(ctx context.Context, now time.Time, old time.Duration, look func(context.Context) (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.get(ctx, now, old, look)
}

// Seen is Get for those whom a somewhat older look serves too, as long as somebody keeps
// it: nobody waits but the first.
func (l *Look[T]) Seen(ctx context.Context, now time.Time, old time.Duration, look func(context.Context) (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.get(ctx, now, max(old, l.good), look)
}

func (l *Look[T]) get(ctx context.Context, now time.Time, old time.Duration, look func(context.Context) (T, error)) (T, error) {
	if !l.at.IsZero() && now.Sub(l.at).Abs() < old {
		return l.last, nil
	}
	v, err := look(ctx)
	if err == nil {
		l.last, l.at = v, now
	}
	return v, err
}

// Forget is told that something has changed since: the next one looks anew.
func (l *Look[T]) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
	l.changes++
}

// Bounds of what keeping a look takes: one of so many parts of the time, and so long for
// one look.
const (
	restFor  = 50
	lookTime = 20 * time.Second
)

// Keep looks every so often until the context ends, less often where a look takes long.
// One that fails is made again; when it goes on to fail, those who ask look themselves.
func (l *Look[T]) Keep(ctx context.Context, every time.Duration, now func() time.Time, look func(context.Context) (T, error)) {
	for ctx.Err() == nil {
		begin := time.Now()
		err := l.renew(ctx, now(), look)
		wait := max(every, restFor*time.Since(begin))
		if err == nil {
			l.keptFor(4 * wait)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	l.keptFor(0)
}

// renew looks beside those who ask, who go on with what is there. What somebody changed
// meanwhile may not be in it.
func (l *Look[T]) renew(ctx context.Context, now time.Time, look func(context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	l.mu.Lock()
	changes := l.changes
	l.mu.Unlock()
	v, err := look(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && changes == l.changes && !now.Before(l.at) {
		l.last, l.at = v, now
	}
	return err
}

func (l *Look[T]) keptFor(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.good = d
}
