package geminitest

import (
	"net/http"
	"time"
)

// Offered is a call of which only the amounts are known: what a simulation asks that has
// no prompts and runs on a clock of its own (Config.Now).
type Offered struct {
	Model        string
	InputTokens  int64 // what the quotas are charged
	OutputTokens int64 // of the answer, where it is a good one
}

// Met is what became of an offered call.
type Met struct {
	Good   bool        // a whole answer
	Hangs  bool        // no answer comes: the caller has to give up
	Status int         // 0: the connection broke
	Header http.Header // of what is not Good
	Body   []byte      // of what is not Good
	Reason string      // why it was refused, as the account gives it
	Took   time.Duration

	end func()
}

// End tells the server that the call is over: until then it runs, and has cost nothing.
func (m Met) End() { m.end() }

// Offer counts a call as arrived now, by the same quotas, faults and latency as a request
// over HTTP, and tells at once what its caller will see after Took. It is not in the
// account. Faults that are in what the model says do not come.
func (s *Server) Offer(o Offered) Met {
	v := &visit{s: s, q: &request{route: route{version: "v1beta", model: o.Model, method: methodGenerate}, found: true}}
	r := v.offer(o)
	status := r.status
	if r.end == endReset || r.end == endCut || r.end == endHang {
		status = 0
	}
	met := Met{Good: status == http.StatusOK && (r.reason == "" || v.has(FaultSlow)), Hangs: r.end == endHang, Status: status, Reason: r.reason,
		Took: r.first, end: func() { v.end(r, status) }}
	if !met.Good {
		met.Header, met.Body = r.headers(), r.body
	}
	return met
}

func (v *visit) offer(o Offered) *reply {
	s := v.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	now := s.now()
	v.call, v.factor = &Call{Seq: s.seq, At: now, Running: true, Model: o.Model}, s.slow
	m, ok := s.modelLocked(o.Model)
	if !ok {
		return modelNotFound(v.q.route)
	}
	v.model, v.lane = m, s.laneLocked(o.Model)
	if r := v.admitLocked(now, need{1, o.InputTokens}); r != nil {
		return r
	}
	v.strikeLocked()
	if o.InputTokens > m.ContextTokens {
		return tooManyTokens(m.ContextTokens)
	}
	r := &reply{status: http.StatusOK, contentType: typeJSON, billed: true, usage: usage{prompt: o.InputTokens, output: o.OutputTokens, tier: v.call.Tier}}
	base, perToken := v.latency()
	r.first = base + time.Duration(o.OutputTokens)*perToken
	if v.fault == nil {
		return r
	}
	return v.spoiled(r)
}
