package limiter

import (
	"slices"
	"testing"
	"time"
)

// arrival is a call as the provider meets it.
type arrival struct {
	at    time.Duration
	class string
	used  Amounts
}

// provider counts what arrives in one of the ways in which providers may count,
// and refuses what is over; a refused call has used up nothing there.
type provider interface {
	takes(at time.Duration, n int64) bool
}

// fixedMinute counts in the clock's minutes.
type fixedMinute struct {
	limit, used int64
	minute      time.Duration
}

func (p *fixedMinute) takes(at time.Duration, n int64) bool {
	if m := at.Truncate(time.Minute); m != p.minute {
		p.minute, p.used = m, 0
	}
	if p.used+n > p.limit {
		return false
	}
	p.used += n
	return true
}

// slidingMinute counts what came in the last 60 s.
type slidingMinute struct {
	limit, used int64
	taken       []taking
}

type taking struct {
	at time.Duration
	n  int64
}

func (p *slidingMinute) takes(at time.Duration, n int64) bool {
	for len(p.taken) > 0 && p.taken[0].at <= at-time.Minute {
		p.used -= p.taken[0].n
		p.taken = p.taken[1:]
	}
	if p.used+n > p.limit {
		return false
	}
	p.used += n
	p.taken = append(p.taken, taking{at, n})
	return true
}

// tokenBucket holds a minute's limit and is refilled evenly.
type tokenBucket struct {
	limit int64
	full  float64
	last  time.Duration
}

func newTokenBucket(limit int64) *tokenBucket {
	return &tokenBucket{limit: limit, full: float64(limit)}
}

func (p *tokenBucket) takes(at time.Duration, n int64) bool {
	p.full = min(float64(p.limit), p.full+float64(p.limit)*(at-p.last).Minutes())
	p.last = at
	if p.full < float64(n) {
		return false
	}
	p.full -= float64(n)
	return true
}

// providers are the three ways to count, for one limit.
func providers(limit int64) map[string]provider {
	return map[string]provider{
		"fixed minute": &fixedMinute{limit: limit}, "sliding minute": &slidingMinute{limit: limit}, "token bucket": newTokenBucket(limit),
	}
}

// refusals gives how many calls of each class the three providers refuse
// altogether, by requests and by input tokens.
func refusals(log []arrival, l Limits) map[string]int {
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b arrival) int { return int(a.at - b.at) })
	out := map[string]int{}
	for unit, limit := range map[Unit]int64{Requests: l.RPM, InputTokens: l.InputTPM} {
		for _, p := range providers(limit) {
			for _, a := range log {
				if !p.takes(a.at, a.used[unit]) {
					out[a.class]++
				}
			}
		}
	}
	return out
}

// TestProvidersCount holds the three providers against what they stand for: twice
// the limit around a minute's turn passes the fixed minute only.
func TestProvidersCount(t *testing.T) {
	t.Parallel()
	var log []arrival
	for i := range 200 {
		log = append(log, arrival{at: 59*time.Second + time.Duration(i)*10*time.Millisecond, class: "bulk", used: Amounts{1}})
	}
	for name, want := range map[string]int{"fixed minute": 0, "sliding minute": 100, "token bucket": 97} {
		p, refused := providers(100)[name], 0
		for _, a := range log {
			if !p.takes(a.at, 1) {
				refused++
			}
		}
		if refused != want {
			t.Errorf("%s refuses %d of 200; want %d", name, refused, want)
		}
	}
}
