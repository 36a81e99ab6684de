package dashboard

import (
	"slices"
	"sync"
	"time"
)

// What the metrics page remembers: each queue every ten seconds for two hours
// and every minute for a day, 2,160 samples of 72 bytes; for 200 queues at most
// some 31 MB.
const (
	sampleEvery = 10 * time.Second
	fineSamples = 720
	coarseEvery = time.Minute
	coarseKept  = 1440
	maxQueues   = 200
	// lookback is how old a sample may be to stand for a moment, as in Prometheus.
	lookback = 5 * time.Minute
)

// sample is a queue at a moment.
type sample struct {
	at                             int64 // Unix ms
	size, pending, retry, archived int64
	latency                        float64 // seconds
	memory                         int64   // bytes
	processed, failed              int64   // ever
}

// series are a queue's samples, by time.
type series struct {
	fine, coarse []sample
}

// samples are all queues'.
type samples struct {
	mu     sync.Mutex
	queues map[string]*series
}

func newSamples() *samples { return &samples{queues: map[string]*series{}} }

// add keeps a sample. A queue above the limit is left out; one that has been
// gone for a day makes room.
func (s *samples) add(queue string, p sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil {
		if len(s.queues) >= maxQueues && !s.forgetLocked(p.at) {
			return
		}
		q = &series{}
		s.queues[queue] = q
	}
	q.fine = push(q.fine, p, fineSamples)
	if n := len(q.coarse); n == 0 || p.at-q.coarse[n-1].at >= coarseEvery.Milliseconds() {
		q.coarse = push(q.coarse, p, coarseKept)
	}
}

// forgetLocked drops a queue whose samples are all older than a day.
func (s *samples) forgetLocked(now int64) bool {
	for name, q := range s.queues {
		if last := q.fine[len(q.fine)-1]; now-last.at > (coarseKept * coarseEvery).Milliseconds() {
			delete(s.queues, name)
			return true
		}
	}
	return false
}

// push appends and keeps the latest n. Room for a quarter more is used before
// the oldest are moved out, so that a sample costs no copy.
func push(list []sample, p sample, n int) []sample {
	if len(list) > 0 && p.at <= list[len(list)-1].at {
		return list // the clock was set back
	}
	if len(list) >= n+n/4 {
		list = append(list[:0], list[len(list)-n+1:]...)
	}
	return append(list, p)
}

// between gives a queue's samples from the finest that reach back to from.
func (q *series) between(from int64) []sample {
	if len(q.fine) == 0 || q.fine[0].at <= from {
		return q.fine
	}
	i, _ := slices.BinarySearchFunc(q.coarse, q.fine[0].at, bySampleTime)
	return append(slices.Clone(q.coarse[:i]), q.fine...)
}

func bySampleTime(p sample, at int64) int {
	switch {
	case p.at < at:
		return -1
	case p.at > at:
		return 1
	}
	return 0
}

// names lists the queues, sorted.
func (s *samples) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.queues))
	for name := range s.queues {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// from copies a queue's samples that a graph beginning at from needs.
func (s *samples) from(queue string, from int64) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil {
		return nil
	}
	return slices.Clone(q.between(from))
}
