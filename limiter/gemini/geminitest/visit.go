package geminitest

import (
	"context"
	"math"
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

// identifyLocked looks at who calls, and what.
func (v *visit) identifyLocked() *reply {
	s, q := v.s, v.q
	switch {
	case !q.found:
		return pathNotFound()
	case q.key == "":
		return keyMissing()
	case !s.keys.good(q.key):
		return keyInvalid()
	case q.method == methodList:
		return nil
	}
	m, ok := s.modelLocked(q.model)
	if !ok || q.embeds != nil && !m.Embeds || q.generate != nil && m.Embeds {
		return modelNotFound(q.route)
	}
	v.model, v.lane = m, s.laneLocked(q.model)
	return nil
}

// admitLocked is the provider's own gate: faults that refuse, money, quotas.
func (v *visit) admitLocked(now time.Time, n need) *reply {
	s := v.s
	if !methods[v.q.method] {
		return nil
	}
	v.lane.sent.add(now, n)
	v.fault = s.pickLocked(hit{seq: v.call.Seq, since: now.Sub(s.start), model: v.q.model, content: v.q.generate != nil, prompts: v.q.prompts})
	limits := s.limitsLocked(v.model)
	r := v.refuseLocked(now, limits, n)
	if r != nil {
		if s.cfg.CountRefused && r.status == http.StatusTooManyRequests {
			v.lane.take(now, limits, need{requests: n.requests})
		}
		return r
	}
	v.call.Admitted = true
	v.lane.take(now, limits, n)
	v.lane.admitted.add(now, n)
	v.lane.enter()
	v.call.Tier = v.tierLocked(now, limits)
	return nil
}

func (v *visit) refuseLocked(now time.Time, limits Limits, n need) *reply {
	s := v.s
	if v.fault != nil && stages[v.fault.Kind] == stageRefuse {
		v.strikeLocked()
		if v.fault.Kind == FaultRevokeKey {
			s.keys.revoked[s.keys.hash(v.q.key)] = true
			return keyInvalid()
		}
		return refusals[v.fault.Kind](s, v.model, &v.fault.Fault, v.call.Seq)
	}
	if n.requests == 0 {
		return nil // countTokens has a limit of its own that nobody has documented
	}
	if r := s.spend.refuse(now, s.cfg.Spend); r != nil {
		return r
	}
	if vs := v.lane.check(now, limits, n); len(vs) > 0 {
		return s.quotaRefusal(v.model, vs, v.call.Seq)
	}
	if v.lane.full(limits) {
		return capacityRefusal(ReasonConcurrency)
	}
	return nil
}

// tierLocked gives the service tier that the call gets. Priority has 0.3 of
// the requests; what is over is served as standard.
func (v *visit) tierLocked(now time.Time, limits Limits) string {
	const priorityShare = 0.3
	tier := v.q.tier()
	if tier != tierPriority || limits.RPM <= 0 {
		return tier
	}
	limit := int64(priorityShare * float64(limits.RPM))
	if v.lane.priority.used(now, limit)+1 > limit {
		return tierStandard
	}
	v.lane.priority.take(now, limit, 1)
	return tier
}

// judgeLocked finds what is wrong with an admitted request, which has counted
// against the quotas all the same.
func (v *visit) judgeLocked(now time.Time) *reply {
	q := v.q
	switch {
	case q.bad != nil:
		return q.bad
	case q.shortDeadline():
		return deadlineTooShort(q.timeout)
	case tierFactors[q.tier()] == 0:
		return invalidArgument("bad_request", "Invalid value at 'service_tier': \""+q.tier()+"\"")
	case q.generate != nil && q.generate.CachedContent != "":
		return denied("CachedContent not found (or permission denied)")
	case q.method != methodCount && q.longest() > v.model.ContextTokens && methods[q.method]:
		return tooManyTokens(v.model.ContextTokens)
	}
	if q.generate != nil {
		v.cached = v.s.cache.look(now, q.prompts[0], v.model)
	}
	return nil
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
	case methodEmbed, methodBatchEmbed:
		r = v.embed()
	default:
		r = v.generate()
	}
	if v.fault == nil {
		return r
	}
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
		c.MicroUSD = v.model.Price.cost(u)
		s.spend.add(now, c.MicroUSD)
	})
}

// latency gives the parts of the time that the answer takes.
func (v *visit) latency() (base, perToken time.Duration) {
	l := v.s.cfg.Latency
	x := v.factor
	if v.fault != nil && v.fault.Kind == FaultSlow {
		x *= l.SlowFactor
	}
	if l.Sigma > 0 || l.SlowShare > 0 {
		rng := v.s.random(v.call.Seq, saltLatency)
		x *= math.Exp(rng.NormFloat64() * l.Sigma)
		if l.SlowShare > 0 && rng.Float64() < l.SlowShare {
			x *= l.SlowFactor
		}
	}
	return time.Duration(float64(l.Base) * x), time.Duration(float64(l.PerToken) * x)
}

// sleep waits, but not longer than the client.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
