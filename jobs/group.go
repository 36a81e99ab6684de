package jobs

import (
	"context"
	"sync"
	"time"
)

const (
	groupMax     = 256              // calls a script: a few milliseconds of Redis
	groupTimeout = 30 * time.Second // of one script: asynq's lease is not longer
)

// group joins the calls for one run that come while a script is under way into
// the next script. A call that finds none under way goes at once, alone.
type group[T, R any] struct {
	exec func(ctx context.Context, run string, items []T) ([]R, error)

	mu   sync.Mutex
	runs map[string][]*groupCall[T, R] // waiting calls; present while a script is under way
}

type groupCall[T, R any] struct {
	item T
	turn chan groupTurn[R]
}

// groupTurn is a call's answer, or its turn to lead the next script.
type groupTurn[R any] struct {
	res  R
	err  error
	lead bool
}

func newGroup[T, R any](exec func(context.Context, string, []T) ([]R, error)) *group[T, R] {
	return &group[T, R]{exec: exec, runs: map[string][]*groupCall[T, R]{}}
}

// do runs item in a script with others. Once a script has taken it, ctx no
// longer stops it: the others' calls are in it too.
func (g *group[T, R]) do(ctx context.Context, run string, item T) (R, error) {
	if err := ctx.Err(); err != nil {
		var zero R
		return zero, err
	}
	c := &groupCall[T, R]{item: item, turn: make(chan groupTurn[R], 1)}
	g.mu.Lock()
	waiting, busy := g.runs[run]
	g.runs[run] = append(waiting, c)
	g.mu.Unlock()
	if !busy {
		g.lead(ctx, run)
	}
	return g.await(ctx, run, c)
}

func (g *group[T, R]) await(ctx context.Context, run string, c *groupCall[T, R]) (R, error) {
	done := ctx.Done()
	for {
		select {
		case t := <-c.turn:
			if !t.lead {
				return t.res, t.err
			}
			g.lead(ctx, run)
		case <-done:
			if g.withdraw(run, c) {
				var zero R
				return zero, ctx.Err()
			}
			done = nil // a script has it, or it is to lead one: that ends by itself
		}
	}
}

// withdraw takes back a call that no script has. The first in line has been, or
// is about to be, told to lead and must.
func (g *group[T, R]) withdraw(run string, c *groupCall[T, R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.runs[run]
	for i := 1; i < len(waiting); i++ {
		if waiting[i] == c {
			g.runs[run] = append(waiting[:i:i], waiting[i+1:]...)
			return true
		}
	}
	return false
}

// lead runs one script with what waits and hands the lead on.
func (g *group[T, R]) lead(ctx context.Context, run string) {
	g.mu.Lock()
	calls := g.runs[run]
	n := min(len(calls), groupMax)
	g.runs[run] = calls[n:]
	calls = calls[:n]
	g.mu.Unlock()

	items := make([]T, n)
	for i, c := range calls {
		items[i] = c.item
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), groupTimeout)
	res, err := g.exec(ctx, run, items)
	cancel()

	g.mu.Lock()
	if rest := g.runs[run]; len(rest) == 0 {
		delete(g.runs, run)
	} else {
		rest[0].turn <- groupTurn[R]{lead: true}
	}
	g.mu.Unlock()
	for i, c := range calls {
		t := groupTurn[R]{err: err}
		if err == nil {
			t.res = res[i]
		}
		c.turn <- t
	}
}
