package gemini

import (
	"slices"
	"strconv"
	"strings"

	"nightshift/limiter"
)

// Put counts a call that no transport made: one that was reported (Direct). Those of
// a transport are counted by it.
func (m *Metrics) Put(r Record) {
	if m == nil {
		return
	}
	class, model := m.classes.first(r.Class), m.models.known(laneModel(r.Lane))
	m.calls.WithLabelValues(class, model, oneOfThese(decisions, r.Decision)).Inc()
	if r.Refusal != "" {
		m.refusals.WithLabelValues(class, model, oneOfThese(refusalReasons, r.Refusal)).Inc()
	}
	if r.Sent {
		m.answers.WithLabelValues(model, statusLabel(r.Status)).Inc()
	}
	if d := r.Degraded; d != nil {
		m.degraded.WithLabelValues(class, oneOfThese(degradeKinds[:], d.Kind), oneOfThese(DegradeCauses[:], d.Reason)).Inc()
	}
	if r.MicroUSD != nil {
		m.cost.WithLabelValues(class, model).Add(float64(max(0, *r.MicroUSD)))
	}
	m.compare(model, r)
	m.time(class, model, r)
}

// compare counts what was charged before the call beside what it took, and answers
// that nothing explains.
func (m *Metrics) compare(model string, r Record) {
	if r.Verdict == Unknown && r.Status > 0 {
		m.unknown.WithLabelValues(model, statusLabel(r.Status)).Inc()
	}
	if r.Usage == nil || r.Verdict != "" || !r.Sent || r.Assumed {
		return
	}
	m.guessed.WithLabelValues(model, "input").Add(float64(max(0, r.Estimate[limiter.InputTokens])))
	m.guessed.WithLabelValues(model, "output").Add(float64(max(0, r.Estimate[limiter.OutputTokens])))
	m.measured.WithLabelValues(model, "input").Add(float64(max(0, r.Used[limiter.InputTokens])))
	m.measured.WithLabelValues(model, "output").Add(float64(max(0, r.Used[limiter.OutputTokens])))
}

// time counts durations: the wait of calls that asked for a permit, the rest of
// good answers alone, since a refusal is quick and would look like a fast model.
func (m *Metrics) time(class, model string, r Record) {
	if r.Permit != "" || r.Refusal != "" {
		m.waited.WithLabelValues(class).Observe(float64(r.WaitMS) / 1000)
	}
	infers := rules[r.Method].tokens || vertexRules[r.Method].tokens
	if !r.Sent || r.Status/100 != 2 || r.Verdict != "" || !infers {
		return
	}
	m.latency.WithLabelValues(class, model).Observe(float64(r.TookMS) / 1000)
	if r.FirstMS > 0 {
		m.first.WithLabelValues(class, model).Observe(float64(r.FirstMS) / 1000)
	}
}

// laneModel is the model of a lane's name; "" for none.
func laneModel(lane string) string { return lane[strings.LastIndexByte(lane, '/')+1:] }

var decisions = []limiter.Decision{
	Admitted, Observed, SoftAdmitted, ReportedDirect,
	limiter.RejectedLocally, limiter.Queued, limiter.Degraded, limiter.AdmittedThenProviderRejected,
}

var refusalReasons = []limiter.Reason{
	limiter.ReasonTooLarge, limiter.ReasonQuota, limiter.ReasonShare, limiter.ReasonSmoothing, limiter.ReasonTurn, limiter.ReasonSlots,
	limiter.ReasonPaused, limiter.ReasonCooldown, limiter.ReasonBreaker, limiter.ReasonSpend, limiter.ReasonCredentials,
	limiter.ReasonUnknownLane, limiter.ReasonUnavailable, limiter.ReasonDeadline, limiter.ReasonProvider, limiter.ReasonNoPrice,
}

// statuses are those that Gemini documents
// (https://ai.google.dev/gemini-api/docs/generate-content/api-errors), and a proxy's.
var statuses = []int{200, 400, 401, 402, 403, 404, 408, 413, 429, 499, 500, 502, 503, 504}

func statusLabel(status int) string {
	switch {
	case status == 0:
		return "none"
	case slices.Contains(statuses, status):
		return strconv.Itoa(status)
	}
	return otherLabel
}

// oneOfThese is v, or "other" where it is none of the set.
func oneOfThese[T ~string](set []T, v T) string {
	if slices.Contains(set, v) {
		return string(v)
	}
	return otherLabel
}
