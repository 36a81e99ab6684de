package gemini

import (
	"context"
	"time"

	"nightshift/limiter"
)

const (
	// progressEvery is how long a stream may be over its charge before that is
	// raised, and the least time between raises: most streams end before, and cost
	// no further call to the shared state.
	progressEvery = 2 * time.Second
	// progressTokens over the charge are raised without that wait.
	progressTokens = 4096
	// progressAhead is what a raise adds to the usage so far, as its eighth: what
	// comes until the next one.
	progressAhead = 8
)

// progress raises a stream's charge while it runs, so that an answer that is
// longer than was estimated is seen by the limits before it ends. The last
// settlement gives back what a raise had too much.
type progress struct {
	charged limiter.Amounts
	over    time.Time // since when usage is over the charge; zero while it is not
	busy    bool      // a raise is under way
}

// raise gives the amounts to charge now that usage is so far; ok is false when
// the charge stands.
func (p *progress) raise(u Usage, most int64, now time.Time) (to limiter.Amounts, ok bool) {
	excess := max(u.Input()-p.charged[limiter.InputTokens], u.Output()-p.charged[limiter.OutputTokens])
	switch {
	case excess <= 0 || p.busy:
		return to, false
	case p.over.IsZero():
		p.over = now
	}
	if excess < progressTokens && now.Sub(p.over) < progressEvery {
		return to, false
	}
	to = p.charged
	to[limiter.InputTokens] = max(to[limiter.InputTokens], u.Input())
	if out := u.Output(); out > to[limiter.OutputTokens] {
		to[limiter.OutputTokens] = max(out, min(out+out/progressAhead, most))
	}
	to[limiter.TotalTokens] = to[limiter.InputTokens] + to[limiter.OutputTokens]
	p.over, p.busy = time.Time{}, true
	return to, true
}

// done ends a raise; one that failed is tried again when the next is due.
func (p *progress) done(charged limiter.Amounts, err error) {
	p.busy = false
	if err == nil {
		p.charged = charged
	}
}

// charge raises the charge when it is time. The reader does not wait for it. Should
// the stream end meanwhile, the limiter has the permit no more and passes over it.
// s.mu is held.
func (s *streamBody) charge() {
	permit := s.call.obs.Permit
	if permit == nil || !s.answer.hasUsage || s.answer.finished > 0 {
		return
	}
	to, ok := s.progress.raise(s.answer.usage, s.call.guess.Output, s.call.t.cfg.Now())
	if !ok {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.call.ctx), s.call.t.cfg.Bounds.Settle)
		defer cancel()
		err := s.call.t.cfg.Gate.Settle(ctx, limiter.Settlement{ID: permit.ID, Lane: permit.Lane, Outcome: limiter.Settled, Used: to, Partial: true})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.progress.done(to, err)
	}()
}
