package limiter

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// fleet plays a queue, workers and a puller against a Model in virtual time:
// jobs start pending, a refused one sleeps until its countdown or until a pull
// wakes it, and a released one goes before all that are pending.
type fleet struct {
	*bench
	slots   int                         // calls at a time
	sweep   int                         // jobs a second that are looked at
	latency time.Duration               // of a call
	away    func(at time.Duration) bool // true while nobody pulls
	seen    func(j *rowJob)             // told of each job that got its permit; may be nil
	booked  func(j *rowJob)             // told of each job that was told to wait; may be nil
	lost    func(j *rowJob) bool        // its release is not heard of
	never   map[*rowJob]bool            // jobs that are away: their countdown is in vain too
	rng     *rand.Rand

	pending  []*rowJob
	released []*rowJob
	asleep   dueHeap
	calls    callHeap
	byTicket map[string]*rowJob
	start    time.Time
	done     int
	grants   []time.Duration // since start
}

type rowJob struct {
	ticket   string
	path     Path
	class    string
	amounts  Amounts
	used     Amounts
	due      time.Time
	arrived  time.Duration
	granted  time.Duration
	tries    int // refusals
	sleeping bool
	gone     bool
}

// nap is one countdown of a job; it is stale when the job was woken before.
type nap struct {
	job *rowJob
	due time.Time
}

type dueHeap []nap

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(nap)) }
func (h *dueHeap) Pop() any          { old := *h; x := old[len(old)-1]; *h = old[:len(old)-1]; return x }

type simCall struct {
	ends time.Time
	id   string
	used Amounts
}

type callHeap []simCall

func (h callHeap) Len() int           { return len(h) }
func (h callHeap) Less(i, j int) bool { return h[i].ends.Before(h[j].ends) }
func (h callHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *callHeap) Push(x any)        { *h = append(*h, x.(simCall)) }
func (h *callHeap) Pop() any          { old := *h; x := old[len(old)-1]; *h = old[:len(old)-1]; return x }

func newFleet(t *testing.T, l LaneConfig, slots int) *fleet {
	f := &fleet{bench: newBench(t, "model"), slots: slots, sweep: 2000, latency: 2 * time.Second,
		rng: rand.New(rand.NewPCG(1, 2)), byTicket: map[string]*rowJob{}}
	f.start = f.now
	f.configure(l)
	return f
}

func (f *fleet) since() time.Duration { return f.now.Sub(f.start) }

// add puts n jobs of a path at the end of the pending ones.
func (f *fleet) add(n int, p Path, amounts func(i int) Amounts) []*rowJob {
	var out []*rowJob
	for i := range n {
		a := amounts(i)
		j := &rowJob{ticket: p.Tenant + p.Run + string(p.Priority) + itoa(len(f.byTicket)), path: p, class: "bulk", amounts: a, used: a, arrived: f.since()}
		f.byTicket[j.ticket] = j
		f.pending = append(f.pending, j)
		out = append(out, j)
	}
	return out
}

const tick = 50 * time.Millisecond

// run plays for d, or until every job was called.
func (f *fleet) run(d time.Duration, each func()) {
	end := f.now.Add(d)
	for f.now.Before(end) && f.done < len(f.byTicket) {
		if each != nil {
			each()
		}
		f.finish()
		f.wake()
		if f.away == nil || !f.away(f.since()) {
			f.pull()
		}
		f.work()
		f.wait(tick)
	}
}

func (f *fleet) finish() {
	for len(f.calls) > 0 && !f.calls[0].ends.After(f.now) {
		c := heap.Pop(&f.calls).(simCall)
		f.must(f.Settle(context.Background(), Settlement{ID: c.id, Lane: f.lane, Outcome: Settled, Used: c.used}))
	}
}

// wake moves what is due to pending, once a second as asynq's forwarder does.
func (f *fleet) wake() {
	if f.since()%time.Second != 0 {
		return
	}
	for len(f.asleep) > 0 && !f.asleep[0].due.After(f.now) {
		n := heap.Pop(&f.asleep).(nap)
		if j := n.job; j.sleeping && j.due.Equal(n.due) && !f.never[j] {
			j.sleeping = false
			f.pending = append(f.pending, j)
		}
	}
}

func (f *fleet) pull() {
	free := f.slots - len(f.calls) - len(f.released)
	ps, err := f.Pull(context.Background(), f.lane, free)
	f.must(err)
	for _, p := range ps {
		if j := f.byTicket[p.Ticket]; j.sleeping && (f.lost == nil || !f.lost(j)) {
			j.sleeping = false // its entry in asleep is passed over
			f.released = append(f.released, j)
		}
	}
}

func (f *fleet) work() {
	for range f.sweep * int(tick) / int(time.Second) {
		var j *rowJob
		switch {
		case len(f.released) > 0:
			j, f.released = f.released[0], f.released[1:]
		case len(f.pending) > 0:
			j, f.pending = f.pending[0], f.pending[1:]
		default:
			return
		}
		f.try(j)
	}
}

func (f *fleet) try(j *rowJob) {
	if j.gone {
		return
	}
	f.ids++
	q := Request{ID: "c" + itoa(f.ids), Lane: f.lane, Class: j.class, Amounts: j.amounts, Path: j.path, Ticket: j.ticket, Full: len(f.calls) >= f.slots}
	p, err := f.Acquire(context.Background(), q)
	if err == nil {
		f.done++
		j.granted, j.gone = f.since(), true
		f.grants = append(f.grants, f.since())
		if f.seen != nil {
			f.seen(j)
		}
		heap.Push(&f.calls, simCall{f.now.Add(f.latency/2 + time.Duration(f.rng.Int64N(int64(f.latency)))), p.ID, j.used})
		return
	}
	var d *Denied
	if !errors.As(err, &d) {
		f.Fatal(err)
	}
	if d.Ticket == "" {
		f.Fatalf("no ticket: %v", d)
	}
	j.tries++
	j.sleeping, j.due = true, d.RetryAt
	heap.Push(&f.asleep, nap{j, j.due})
	if f.booked != nil && j.tries == 1 {
		f.booked(j)
	}
}

// reschedules gives the mean and the 99th percentile of refusals over the jobs that were called.
func (f *fleet) reschedules() (mean float64, p99 int) {
	counts := map[int]int{}
	sum := 0
	for _, j := range f.byTicket {
		if j.gone {
			sum += j.tries
			counts[j.tries]++
		}
	}
	left := f.done / 100
	for n := 1000; n >= 0; n-- {
		if left -= counts[n]; left < 0 {
			return float64(sum) / float64(f.done), n
		}
	}
	return float64(sum) / float64(f.done), 0
}

// between counts grants in a time since start.
func (f *fleet) between(from, to time.Duration) int {
	n := 0
	for _, g := range f.grants {
		if g >= from && g < to {
			n++
		}
	}
	return n
}

func requests(int) Amounts { return Amounts{1, 100} }
