package sim

import (
	"container/heap"
	"context"
	"time"
)

// clock plays events in the order of their times; of those at one time, the first that
// was planned comes first.
type clock struct {
	start time.Time
	now   time.Duration // since start
	queue events
	seq   int
}

type event struct {
	at  time.Duration
	seq int
	do  func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { old := *e; x := old[len(old)-1]; *e = old[:len(old)-1]; return x }

// after plans an event.
func (c *clock) after(d time.Duration, do func()) {
	c.seq++
	heap.Push(&c.queue, event{c.now + max(d, 0), c.seq, do})
}

// looksEvery is after how many events run looks whether it is to stop: some milliseconds.
const looksEvery = 1024

// run plays until the end, or until nothing is left. The error is that ctx is done.
func (c *clock) run(ctx context.Context, end time.Duration) error {
	for n := 0; len(c.queue) > 0 && c.queue[0].at < end; n++ {
		if n%looksEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
	c.now = end
	return nil
}

// time is the clock's.
func (c *clock) time() time.Time { return c.start.Add(c.now) }

// every plans an event again and again.
func (c *clock) every(d time.Duration, do func()) {
	c.after(d, func() {
		do()
		c.every(d, do)
	})
}
