package limiter

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// street is a fleet and the people who call beside it: who is refused comes back
// when the refusal says, as the transport does for them.
type street struct {
	*fleet
	come    func(at time.Duration) int // how many call in the tick that begins then
	jitter  *rand.Rand
	tokens  func() int64                   // of a call
	floors  func(at time.Duration) []Floor // that were learned; may be nil
	waiting askHeap
	waits   []time.Duration
	met     []arrival
}

type asking struct {
	due, since time.Duration
}

type askHeap []asking

func (h askHeap) Len() int           { return len(h) }
func (h askHeap) Less(i, j int) bool { return h[i].due < h[j].due }
func (h askHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *askHeap) Push(x any)        { *h = append(*h, x.(asking)) }
func (h *askHeap) Pop() any          { old := *h; x := old[len(old)-1]; *h = old[:len(old)-1]; return x }

// lendingClasses are people, and bulk below them.
func lendingClasses() []Class {
	return []Class{{Name: "interactive", GuaranteePPM: 300_000}, {Name: "bulk", Smooth: true, Tickets: true}}
}

func newStreet(t *testing.T, lend string, classes []Class) *street {
	s := streetOn(newFleet(t, LaneConfig{Limits: lendingLimits, Lend: lend}, 400))
	s.must(s.Configure(s.Context(), Config{Scope: s.scope, Classes: classes,
		Lanes: []LaneConfig{{Lane: s.lane, Limits: lendingLimits, Lend: lend}}}))
	s.tokens = func() int64 { return 500 + s.jitter.Int64N(600) }
	s.come = func(at time.Duration) int { return s.poisson(people(at) * tick.Minutes()) }
	return s
}

func streetOn(f *fleet) *street {
	s := &street{fleet: f, jitter: rand.New(rand.NewPCG(7, 7))}
	f.seen = func(j *rowJob) { s.meets(j.class, j.used) }
	return s
}

// meets notes a call where the provider counts it, 0 to 0.3 s after it was admitted.
func (s *street) meets(class string, used Amounts) {
	s.met = append(s.met, arrival{at: s.since() + time.Duration(s.jitter.Int64N(int64(300*time.Millisecond))), class: class, used: used})
}

// rows puts n bulk jobs in the queue: some 750 tokens a job, estimates that are
// 5 % too high in the mean and sometimes too low.
func (s *street) rows(n int) {
	jobs := s.add(n, Path{Run: "night", Priority: Normal}, func(int) Amounts {
		return Amounts{1, s.tokens()}
	})
	for _, j := range jobs {
		j.used = s.real(j.amounts)
	}
}

func (s *street) real(a Amounts) Amounts {
	a[InputTokens] = int64(float64(a[InputTokens]) * (0.95 + 0.06*s.jitter.NormFloat64()))
	return a
}

// ask lets the people of this tick, and those whose wait is over, ask.
func (s *street) ask() {
	for range s.come(s.since()) {
		s.call(s.since())
	}
	for len(s.waiting) > 0 && s.waiting[0].due <= s.since() {
		s.call(heap.Pop(&s.waiting).(asking).since)
	}
}

func (s *street) call(since time.Duration) {
	a := Amounts{1, s.tokens()}
	p, no := s.bench.ask(s.request("interactive", a))
	if no != nil {
		heap.Push(&s.waiting, asking{due: no.RetryAt.Sub(s.start), since: since})
		return
	}
	s.waits = append(s.waits, s.since()-since)
	used := s.real(a)
	s.meets("interactive", used)
	heap.Push(&s.calls, simCall{s.now.Add(s.latency), p.ID, used})
}

func (s *street) poisson(mean float64) (n int) {
	for p := s.jitter.Float64(); p > math.Exp(-mean); n++ {
		p *= s.jitter.Float64()
	}
	return n
}

// perMinute is how many calls of a class the provider met in a minute of the night.
func (s *street) perMinute(class string, from, to time.Duration) float64 {
	n := 0
	for _, a := range s.met {
		if a.class == class && a.at >= from && a.at < to {
			n++
		}
	}
	return float64(n) / (to - from).Minutes()
}

// quantile is the wait that q of the people do not exceed.
func (s *street) quantile(q float64) time.Duration {
	if len(s.waits) == 0 {
		return 0
	}
	slices.Sort(s.waits)
	return s.waits[min(len(s.waits)-1, int(q*float64(len(s.waits))))]
}
