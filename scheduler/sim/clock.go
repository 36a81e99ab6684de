package sim

import (
	"container/heap"
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

// run plays until the end, or until nothing is left.
func (c *clock) run(end time.Duration) {
	for len(c.queue) > 0 && c.queue[0].at < end {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.do()
	}
	c.now = end
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
