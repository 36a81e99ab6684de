package gemini

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"nightshift/limiter"
)

// SoftAllowance is what a process lets through of a class while the shared state
// is away: the class's floor divided by the processes that may do so, which the
// caller knows. All lanes share it.
type SoftAllowance struct {
	PerMinute   int64 // requests in any minute; 0 lets nothing through
	Concurrency int64 // calls at once; 0 means no limit but PerMinute
}

// SetSoft replaces the allowances of all classes, as when the number of
// processes changed. What was let through already goes on counting.
func (t *Transport) SetSoft(allowances map[string]SoftAllowance) { t.soft.set(allowances) }

// Soft are the allowances that let something through now, by class.
func (t *Transport) Soft() map[string]SoftAllowance { return t.soft.allowed() }

// softGates are the classes' allowances, and which lanes the provider wants to
// rest meanwhile, since nobody can be told.
type softGates struct {
	mu    sync.Mutex
	gates map[string]*softGate       // guarded by mu; never removed, so that what was used is known
	rests map[limiter.Lane]time.Time // until when; guarded by mu
}

func (s *softGates) set(allowances map[string]SoftAllowance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for class, g := range s.gates {
		g.set(allowances[class])
	}
	for class, a := range allowances {
		if s.gates[class] == nil {
			if s.gates == nil {
				s.gates = map[string]*softGate{}
			}
			s.gates[class] = &softGate{limit: a}
		}
	}
}

func (s *softGates) allowed() map[string]SoftAllowance {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]SoftAllowance{}
	for class, g := range s.gates {
		if a := g.allowance(); a.PerMinute > 0 {
			out[class] = a
		}
	}
	return out
}

// gate gives a class's, or nil when nothing of it may pass.
func (s *softGates) gate(class string) *softGate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.gates[class]; g.allows() {
		return g
	}
	return nil
}

func (s *softGates) rest(lane limiter.Lane, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rests == nil {
		s.rests = map[limiter.Lane]time.Time{}
	}
	if until.After(s.rests[lane]) {
		s.rests[lane] = until
	}
}

// resting is how long a lane still rests.
func (s *softGates) resting(lane limiter.Lane, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rests[lane].Sub(now)
}

// passSoftly lets the call through without a permit when the shared state is
// away and its class has an allowance left. Else it gives the refusal, which
// says so and when to come back.
func (c *call) passSoftly(refusal error) error {
	var denied *limiter.Denied
	gate := c.t.soft.gate(c.caller.Class)
	if gate == nil || c.ctx.Err() != nil || !errors.As(refusal, &denied) || denied.Reason != limiter.ReasonUnavailable {
		return refusal
	}
	now := time.Now()
	if wait := c.t.soft.resting(c.obs.Lane, now); wait > 0 {
		return noneLeft(refusal, denied, now, wait, "the provider wants the lane to rest")
	}
	id, wait := gate.take(max(1, c.obs.Estimate[limiter.Requests]), now)
	if wait > 0 {
		return noneLeft(refusal, denied, now, wait, "the local allowance of "+gate.String()+" is used up")
	}
	c.obs.Soft = true
	c.leave = func() { gate.done(id) }
	return nil
}

// oweSoft has the call charged later that went out without a permit.
func (c *call) oweSoft(outcome limiter.Outcome, used limiter.Amounts) {
	if !c.obs.Soft || outcome != limiter.Settled {
		return
	}
	q := c.request()
	q.Amounts, q.Ticket, q.Lease = used, "", 0
	c.t.late.owe(q)
}

func noneLeft(refusal error, d *limiter.Denied, now time.Time, wait time.Duration, why string) error {
	d.Detail, d.RetryAt, d.RetryAfterMS = why, now.Add(wait), max(1, wait.Milliseconds())
	return fmt.Errorf("%w; %s, retry in %s", refusal, why, wait.Round(time.Millisecond))
}
