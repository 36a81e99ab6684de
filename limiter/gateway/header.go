package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// What every answer says about its call.
const (
	headerDecision = "X-Nightshift-Decision"       // admitted, observed, soft, or the refusal's gateway_decision
	headerWaited   = "X-Nightshift-Waited-Ms"      // for the permit
	headerEstimate = "X-Nightshift-Estimate"       // what it was expected to take: "requests=1, input_tokens=12"
	headerOver     = "X-Nightshift-Over"           // while only observing: what would have refused it
	headerTraceID  = "X-Nightshift-Trace-Id"       // finds the call in records, logs and `why`
	headerUsage    = "X-Nightshift-Usage"          // what it took; of a stream in its trailers, if the client takes them
	headerCost     = "X-Nightshift-Cost-Micro-Usd" // by the price book; likewise
)

// describe writes down what became of a call.
func (v *visit) describe(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Nightshift-") {
			h.Del(name)
		}
	}
	h.Set(headerTraceID, v.trace)
	h.Set(headerDecision, string(v.decision()))
	if v.obs == nil {
		return
	}
	h.Set(headerWaited, strconv.FormatInt(v.obs.Waited.Milliseconds(), 10))
	if v.obs.Over != "" {
		h.Set(headerOver, v.obs.Over)
	}
	if v.obs.Called != v.obs.Asked {
		h.Set(gemini.HeaderModel, v.obs.Called)
	}
	if d := v.obs.Degraded; d != nil {
		h.Set(gemini.HeaderDegraded, d.String())
	}
	if s := amounts(v.obs.Estimate); s != "" {
		h.Set(headerEstimate, s)
	}
}

// describeUsage is for answers that were read whole before they are passed on.
func (v *visit) describeUsage(h http.Header) {
	if v.obs.HasUsage {
		h.Set(headerUsage, usage(v.obs.Usage))
	}
	if v.obs.Priced {
		h.Set(headerCost, strconv.FormatInt(v.obs.MicroUSD, 10))
	}
}

// decision is the observation's; a call of which there is none was refused here.
func (v *visit) decision() limiter.Decision {
	switch {
	case v.obs != nil && v.obs.Decision != "":
		return v.obs.Decision
	case v.obs == nil || v.refused && v.obs.Sent == 0:
		return limiter.RejectedLocally
	case v.obs.Soft:
		return gemini.SoftAdmitted
	case v.g.cfg.Observe:
		return gemini.Observed
	}
	return gemini.Admitted
}

// amounts writes those that are not zero: "requests=1, input_tokens=12".
func amounts(a limiter.Amounts) string {
	text := make([]byte, 0, 128)
	for unit, n := range a {
		if n == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = append(text, limiter.Unit(unit).String()...)
		text = strconv.AppendInt(append(text, '='), n, 10)
	}
	return string(text)
}

func usage(u gemini.Usage) string {
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	s := "input_tokens=" + n(u.Input()) + ", output_tokens=" + n(u.Output()) + ", total_tokens=" + n(u.Total)
	if u.Cached > 0 {
		s += ", cached_tokens=" + n(u.Cached)
	}
	return s
}
