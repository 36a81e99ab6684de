package geminitest

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	tierStandard = "standard"
	tierFlex     = "flex"
	tierPriority = "priority"
)

// visit is one call from its arrival to its end.
type visit struct {
	s      *Server
	q      *request
	call   *Call
	model  Model
	lane   *lane
	fault  *planned // nil: none, or not in force
	factor float64  // on the latency
	cached int64
	ended  sync.Once
}

// answer takes a call as far as its first byte. The caller must end the visit
// when there is no error.
func (s *Server) answer(r *http.Request) (*visit, *reply, error) {
	ctx := r.Context()
	q, err := readRequest(r)
	if err != nil {
		return nil, nil, err
	}
	if d := s.cfg.Latency.Arrival; d > 0 {
		if err := sleep(ctx, s.arrivalDelay(q, d)); err != nil {
			return nil, nil, err
		}
	}
	v, answer := s.arrive(q)
	if answer == nil {
		answer = v.compose()
	}
	v.note(answer)
	if err := v.wait(ctx, &answer); err != nil {
		v.end(answer, statusClientGone)
		return nil, nil, err
	}
	return v, answer, nil
}

// statusClientGone is what logs give a call whose client left.
const statusClientGone = 499

func (s *Server) arrivalDelay(q *request, most time.Duration) time.Duration {
	s.mu.Lock()
	n := s.seq
	s.mu.Unlock()
	return time.Duration(s.random(n^int64(q.digest()), saltArrival).Int64N(int64(most)))
}

// arrive counts the call and decides about it. A reply means that it ends
// here: refused, or wrong.
func (s *Server) arrive(q *request) (*visit, *reply) {
	need := q.need()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	now := s.now()
	v := &visit{s: s, q: q, factor: s.slow, call: &Call{
		Seq: s.seq, At: now, Running: true, Version: q.version, Method: q.method, Model: q.model,
		Key: s.keys.hash(q.key), Requests: need.requests, PromptTokens: q.tokens(), Digest: Digest(q.digest()), Header: q.header,
	}}
	for _, p := range q.prompts {
		if v.call.ID = p.rowID(s.ids); v.call.ID != "" {
			break
		}
	}
	s.recordLocked(v.call)
	if r := v.identifyLocked(); r != nil {
		return v, r
	}
	if r := v.admitLocked(now, need); r != nil {
		return v, r
	}
	if r := v.judgeLocked(now); r != nil {
		v.fault = nil
		return v, r
	}
	v.strikeLocked()
	return v, nil
}

// strikeLocked puts the fault in force.
func (v *visit) strikeLocked() {
	if v.fault != nil {
		v.fault.hits++
		v.call.Fault = v.fault.Kind
	}
}

// compose makes the good answer, and spoils it when a fault says so.
func (v *visit) compose() *reply {
	var r *reply
	switch v.q.method {
	case methodList:
		return v.s.listModels()
	case methodGet:
		return v.s.getModel(v.q.route)
	case methodCount:
		p := v.q.prompts[0]
		r = okReply(countResponse{TotalTokens: p.total(), PromptTokensDetails: p.details()})
	case methodEmbed, methodBatchEmbed, methodPredict:
		r = v.embed()
	default:
		r = v.generate()
	}
	if v.fault == nil {
		return r
	}
	return v.spoiled(r)
}

// spoiled is the good answer as the fault has it: it takes as long.
func (v *visit) spoiled(r *reply) *reply {
	spoiled := v.fault.spoil(r)
	if spoiled != r {
		spoiled.first, spoiled.gap = r.first, r.gap
	}
	if spoiled.reason == "" {
		spoiled.reason = string(v.fault.Kind)
	}
	return spoiled
}

// note sets when the answer begins.
func (v *visit) note(r *reply) {
	if !v.call.Admitted || r.status >= http.StatusBadRequest && r.status != http.StatusGatewayTimeout {
		r.first = 0
	}
}

// wait lets the time pass that the server needs for the first byte.
func (v *visit) wait(ctx context.Context, r **reply) error {
	if (*r).end == endHang {
		<-ctx.Done()
		return ctx.Err()
	}
	d := (*r).first
	if limit := time.Duration(v.q.timeout * float64(time.Second)); limit > 0 && d > limit {
		d, *r = limit, deadlineExpired()
	}
	return sleep(ctx, d)
}

// end closes the account of the call; only the first time counts.
func (v *visit) end(r *reply, status int) {
	v.ended.Do(func() {
		s := v.s
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.now()
		c := v.call
		c.Took, c.Running, c.Status, c.Reason = now.Sub(c.At), false, status, r.reason
		if c.Admitted {
			v.lane.inFlight--
		}
		if !r.billed {
			return
		}
		u := r.usage
		c.CachedTokens, c.ThoughtTokens, c.OutputTokens = u.cached, u.thoughts, u.output
		cost := v.model.Price.cost(u)
		c.MicroUSD = roundUp(cost)
		s.spend.add(now, cost)
	})
}
