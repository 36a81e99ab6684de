package gemini

import (
	"net/http"
	"slices"
	"time"

	"nightshift/limiter"
)

// count adds one call.
func (s *UsageSample) count(r Record) {
	waited := time.Duration(r.WaitMS) * time.Millisecond
	s.countDegraded(r)
	s.countCauses(r)
	switch {
	case r.Sent:
		s.Calls, s.Sent = s.Calls+1, s.Sent+1
		s.Waited.Add(waited)
		s.countWay(r)
		s.countUse(r)
		s.countEstimate(r)
		s.countAnswer(r)
	case r.Decision == limiter.Queued:
		s.Queued++
	case refusedForNow(r):
		s.Calls, s.Refused = s.Calls+1, s.Refused+1
		if r.ownLimit() {
			s.OwnLimit++
		}
		if !r.contested() {
			s.Uncontested++
		}
		s.Waited.Add(waited)
	default:
		s.Invalid++
	}
}

func (s *UsageSample) countDegraded(r Record) {
	if r.Degraded == nil {
		return
	}
	if i := slices.Index(DegradeCauses[:], r.Degraded.Reason); i >= 0 {
		s.Degraded[i]++
	}
	if i := slices.Index(degradeKinds[:], r.Degraded.Kind); i >= 0 {
		s.DegradedBy[i]++
	}
}

// saved holds for a call that could have been made, and was not, to save money.
func (r Record) saved() bool { return r.Degraded != nil && r.Degraded.Reason == CauseSoftSpend }

// ownLimit holds for a refusal that is the caller's own: by a limit of a node on its
// path, or to save money.
func (r Record) ownLimit() bool { return r.Node != "" || r.saved() }

// contested holds for a refusal for quota that other classes may have taken. One that
// waited until too little time was left is what it waited for.
func (r Record) contested() bool {
	reason := r.Refusal
	if reason == limiter.ReasonDeadline {
		reason = r.WaitedFor
	}
	return !r.saved() && limiter.Contested(reason, r.Limit, r.Node)
}

// refusedForNow holds for a refusal that another moment would not have met: the
// caller is without an answer, and not by its own doing.
func refusedForNow(r Record) bool {
	if r.saved() {
		return true
	}
	switch r.Refusal {
	case "", limiter.ReasonTooLarge, limiter.ReasonUnknownLane:
		return false
	case limiter.ReasonDeadline: // it came with too little time, or waited until too little was left
		return r.WaitMS > 0
	}
	return true
}

func (s *UsageSample) countWay(r Record) {
	switch {
	case r.Direct:
		s.Bypassed++
	case r.Soft:
		s.Soft++
	}
	if r.Over != "" {
		s.WouldRefuse++
	}
}

func (s *UsageSample) countUse(r Record) {
	s.Requests += r.Used[limiter.Requests]
	s.InputTokens += r.Used[limiter.InputTokens]
	s.OutputTokens += r.Used[limiter.OutputTokens]
	s.TotalTokens += r.Used[limiter.TotalTokens]
	if r.Usage != nil {
		s.CachedTokens += min(r.Usage.Cached, r.Usage.Prompt)
	}
	s.CacheSavedMicroUSD += r.CacheSaved
	if r.MicroUSD != nil {
		s.MicroUSD += *r.MicroUSD
	} else {
		s.MicroUSD += r.Used[limiter.MicroUSD]
	}
}

// countEstimate compares what was charged before a call to what it took. A call
// that was broken off, refused or reported afterwards tells nothing about the
// estimate.
func (s *UsageSample) countEstimate(r Record) {
	if r.Usage == nil || r.Finish == "" || r.Direct {
		return
	}
	in, out := r.Usage.Input(), r.Usage.Output()
	s.Measured++
	s.EstimatedInput += r.Estimate[limiter.InputTokens]
	s.EstimatedOutput += r.Estimate[limiter.OutputTokens]
	s.MeasuredInput += in
	s.MeasuredOutput += out
	if in > r.Estimate[limiter.InputTokens] {
		s.UnderInput++
	}
	if out > r.Estimate[limiter.OutputTokens] {
		s.UnderOutput++
	}
}

func (s *UsageSample) countAnswer(r Record) {
	switch {
	case r.Verdict == "":
		s.Good++
	case r.Status == http.StatusPaymentRequired:
		s.ProviderFailed++ // no credits: neither quota nor capacity
		return
	case refusedThere(r):
		s.Provider429++
		if forMoney(r) {
			s.ProviderMoney++
		}
		return // no latency: a quick refusal would make the answers look quick
	case r.Status < 400 && r.Reason == "cancelled":
		s.Abandoned++
		return
	default:
		s.ProviderFailed++
		if r.Affects == ScopeJob || r.Affects == ScopeTool {
			s.RequestFaults++
		}
	}
	s.countTime(r)
}

// refusedThere holds for the provider's refusals for quota or capacity, also
// those inside a 200 stream.
func refusedThere(r Record) bool {
	switch r.Verdict {
	case Wait, DailyReset, BudgetStop:
		return true
	}
	return r.Status == http.StatusTooManyRequests || r.Reason == "capacity"
}

// forMoney holds for the provider's refusals for what was spent: in the month, or lately
// in all models together.
func forMoney(r Record) bool {
	return r.Verdict == BudgetStop || r.Verdict == Wait && r.Affects.all()
}

func (s *UsageSample) countTime(r Record) {
	whole := time.Duration(r.WaitMS+r.TookMS) * time.Millisecond
	switch {
	case r.Lent && (r.TookMS == 0 || !rules[r.Method].tokens): // its holder does not say how long, or a session or batch
	case !rules[r.Method].stream:
		s.Latency.Add(whole)
	case r.FirstMS > 0:
		s.FirstToken.Add(time.Duration(r.WaitMS+r.FirstMS) * time.Millisecond)
	default:
		s.FirstToken.Add(whole)
	}
}
