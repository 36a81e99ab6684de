package geminitest

import (
	"net/http"
	"time"
)

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
	v.fault = s.pickLocked(hit{seq: v.call.Seq, since: now.Sub(s.start), model: v.q.model, tier: v.q.tier(), content: v.q.generate != nil, prompts: v.q.prompts})
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
