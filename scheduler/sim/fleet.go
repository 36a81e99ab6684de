package sim

import (
	"strconv"
	"time"

	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// row is a row of bulk work.
type row struct {
	bulk     *Bulk
	ticket   string
	input    int64
	output   int64
	attempts int // that counted
	looks    int // that brought it back
	asks     int
	sleeping bool
	due      time.Duration
}

// fleet are the workers: rows that are new wait in a queue, those that were sent away sleep
// until their time or until a pull wakes them. A woken one goes before the new ones.
type fleet struct {
	n        *night
	slots    int
	busy     int
	pending  []*row
	front    []*row // that a pull let go
	queued   map[string]*row
	sweeping bool
	left     int
}

// sweepEvery is how often a fleet looks at its next rows.
const sweepEvery = 50 * time.Millisecond

func newFleet(n *night) *fleet {
	return &fleet{n: n, slots: n.s.Workers.Processes * n.s.Workers.Concurrency, queued: map[string]*row{}}
}

func (f *fleet) add(rows []*row) {
	f.left += len(rows)
	f.pending = append(f.pending, rows...)
	for _, r := range rows {
		f.queued[r.ticket] = r
	}
	f.work()
}

// free are the slots that nobody has or was promised.
func (f *fleet) free() int { return f.slots - f.busy - len(f.front) }

// work lets rows call while there are slots: those that were woken, and of the others as
// many as a fleet looks at in so short a time.
func (f *fleet) work() {
	for f.busy < f.slots && len(f.front) > 0 {
		r := f.front[0]
		f.front = f.front[1:]
		f.look(r, false)
	}
	if f.n.policy.looks() == 0 { // rows wait in their slots: each is looked at once
		for f.busy < f.slots && len(f.pending) > 0 {
			f.look(f.take(), false)
		}
		return
	}
	f.sweep()
}

func (f *fleet) take() (r *row) {
	r, f.pending = f.pending[0], f.pending[1:]
	return r
}

// sweep looks at the next rows. Without a free slot one gets its place in line all the same.
func (f *fleet) sweep() {
	if f.sweeping || len(f.pending) == 0 {
		return
	}
	f.sweeping = true
	f.n.after(sweepEvery, func() {
		f.sweeping = false
		for i := 0; i < f.n.policy.looks() && len(f.pending) > 0; i++ {
			f.look(f.take(), f.busy >= f.slots)
		}
		f.work()
	})
}

// look asks for a row's call. full says that no slot is free: it wants a place only.
func (f *fleet) look(r *row, full bool) {
	r.asks++
	c := &call{class: r.bulk.Class, tenant: r.bulk.Tenant, priority: r.bulk.Priority, run: r.bulk.Name, input: r.input, output: r.output, row: r,
		id: "r" + r.ticket + "." + itoa(r.asks), began: f.n.now}
	if full {
		c.id = ""
		f.away(r, f.n.policy.ask(c))
		return
	}
	f.busy++
	f.ask(r, c)
}

func (f *fleet) ask(r *row, c *call) {
	p := f.n.policy.ask(c)
	switch {
	case p.ok:
		f.n.send(c, func(m geminitest.Met, v gemini.Verdict) { f.answered(r, c, m, v) })
	case p.refused:
		f.busy--
		f.away(r, p)
	default:
		f.n.after(p.again, func() { f.ask(r, c) })
	}
}

// away lets a row sleep that was sent away, or ends it.
func (f *fleet) away(r *row, p pass) {
	if p.never || p.again <= 0 {
		f.end(r, false)
		return
	}
	r.looks++
	f.sleep(r, p.again)
}

// sleep lets a row come back after a time; asynq keeps whole seconds and looks each second.
func (f *fleet) sleep(r *row, d time.Duration) {
	due := (f.n.now + d).Truncate(time.Second) + time.Second
	r.sleeping, r.due = true, due
	f.n.after(due-f.n.now, func() {
		if r.sleeping && r.due == due {
			r.sleeping = false
			f.pending = append(f.pending, r)
			f.work()
		}
	})
}

// wake brings a row that a pull let go.
func (f *fleet) wake(ticket string) {
	if r := f.queued[ticket]; r != nil && r.sleeping {
		r.sleeping = false
		f.front = append(f.front, r)
	}
}

func (f *fleet) answered(r *row, c *call, m geminitest.Met, v gemini.Verdict) {
	next := f.n.policy.met(c, m, v)
	if m.Good {
		f.busy--
		f.end(r, true)
		f.work()
		return
	}
	if next.counted {
		r.attempts++
	}
	switch {
	case next.ends || r.attempts >= f.n.s.Workers.Attempts:
		f.busy--
		f.end(r, false)
	case f.n.policy.looks() == 0: // the SDK's own retry: the slot is kept
		r.looks++
		f.n.after(next.wait, func() { f.busy--; f.look(r, false) })
		return
	default:
		f.busy--
		r.looks++
		f.sleep(r, next.wait)
	}
	f.work()
}

func (f *fleet) end(r *row, good bool) {
	delete(f.queued, r.ticket)
	f.left--
	f.n.out.rowEnded(r, good, f.n.now, f.left)
}
