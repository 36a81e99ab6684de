package limiter

import (
	"context"
	"testing"
)

// TestOwedStands: what a call owes is charged once its answer comes, also when nobody
// waits for that any more; any other permit is given back then.
func TestOwedStands(t *testing.T) {
	t.Parallel()
	s := testScope()
	r, lane := NewRedis(nil, s, RedisOptions{}), Lane{Provider: s.Provider, Project: s.Project, Region: "global", Model: "flash"}
	entered, leave, released := make(chan int), make(chan struct{}), make(chan string, 3)
	l := r.lane(lane)
	l.acquire.run = func(qs []Request) ([]answer, error) {
		entered <- len(qs)
		<-leave
		out := make([]answer, len(qs))
		for i, q := range qs {
			out[i].permit = &Permit{ID: q.ID}
		}
		return out, nil
	}
	l.settle.run = func(ss []settlement) ([]int64, error) {
		for _, s := range ss {
			released <- s.id
		}
		return make([]int64, len(ss)), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 3)
	ask := func(id string, owed bool) {
		go func() {
			_, err := r.Acquire(ctx, Request{ID: id, Lane: lane, Class: "interactive", Feature: "chat", Amounts: Amounts{1}, Force: owed, Owed: owed})
			gone <- err
		}()
	}
	ask("first", true)
	<-entered
	ask("owed", true)
	l.acquire.awaitWaiting(1)
	ask("asked", false)
	l.acquire.awaitWaiting(2)
	leave <- struct{}{}
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if n := <-entered; n != 2 {
		t.Fatalf("%d were asked together", n)
	}
	cancel()
	for range 2 {
		if err := <-gone; err == nil {
			t.Error("answered, although nobody waited")
		}
	}
	leave <- struct{}{}
	if id := <-released; id != "asked" || len(released) > 0 {
		t.Errorf("%s was released, and %d more", id, len(released))
	}
}
