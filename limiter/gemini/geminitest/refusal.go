package geminitest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	service      = "generativelanguage.googleapis.com"
	quotaMessage = "You exceeded your current quota, please check your plan and billing details. " +
		"For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. " +
		"To monitor your current usage, head to: https://ai.dev/rate-limit. "
)

// Reasons of a refusal, as the account gives them.
const (
	ReasonRPM         = "rpm"
	ReasonInputTPM    = "input_tpm"
	ReasonRPD         = "rpd"
	ReasonConcurrency = "concurrency"
	ReasonSpendRate   = "spend_rate"
	ReasonMonthlyCap  = "monthly_cap"
	ReasonCapacity    = "capacity"
	ReasonLimitZero   = "limit_zero"
	ReasonUnknown     = "unknown"
	ReasonMixed       = "mixed"
	ReasonPrepay      = "prepay_depleted"
)

// violation is one quota that a call does not fit into.
type violation struct {
	reason string
	limit  int64         // 0: the tier has no quota for the model
	wait   time.Duration // until it would fit
}

// quotaName gives the metric and the id under which Gemini reports a quota.
// Those of the paid embedding quotas are by analogy, nobody has published one.
func quotaName(reason string, free, embeds bool) (metric, id string) {
	kind, tier, suffix := "Generate", "", ""
	metric = "generate_requests_per_model"
	if embeds {
		kind, metric = "EmbedContent", "embed_content_requests"
	}
	if reason == ReasonRPD && !embeds {
		metric += "_per_day"
	}
	if free {
		suffix, metric = "-FreeTier", map[bool]string{false: "generate_content_free_tier_requests", true: "embed_content_free_tier_requests"}[embeds]
	} else {
		tier = "PaidTier"
	}
	switch reason {
	case ReasonInputTPM:
		return tokenMetric(free, embeds), strings.TrimSuffix(kind, "Content") + "Content" + tier + "InputTokensPerModelPerMinute" + suffix
	case ReasonRPD:
		return metric, kind + "RequestsPerDayPerProjectPerModel" + suffix
	default:
		return metric, kind + "RequestsPerMinutePerProjectPerModel" + suffix
	}
}

func tokenMetric(free, embeds bool) string {
	verb, tier := "generate", "paid"
	if embeds {
		verb = "embed"
	}
	if free {
		tier = "free"
	}
	return verb + "_content_" + tier + "_tier_input_token_count"
}

// quotaRefusal is the 429 for quotas, as Gemini words it. Every other one has
// a RetryInfo without the fraction that its message has, as seen in the wild.
func (s *Server) quotaRefusal(m Model, vs []violation, seq int64) *reply {
	lines := strings.Builder{}
	failure := quotaFailure{Type: rpc + "QuotaFailure"}
	var hint time.Duration
	for _, v := range vs {
		metric, id := quotaName(v.reason, s.cfg.Free, m.Embeds)
		fmt.Fprintf(&lines, "\n* Quota exceeded for metric: %s/%s, limit: %d, model: %s", service, metric, v.limit, m.Bucket)
		failure.Violations = append(failure.Violations, quotaViolation{
			QuotaMetric: service + "/" + metric, QuotaID: id, QuotaValue: v.limit,
			QuotaDimensions: map[string]string{"location": "global", "model": m.Bucket},
		})
		hint = max(hint, s.hint(v, seq))
	}
	fmt.Fprintf(&lines, "\nPlease retry in %s.", hint)
	if seq%2 == 0 {
		hint = hint.Truncate(time.Second)
	}
	e := apiError{http.StatusTooManyRequests, quotaMessage + lines.String(), "RESOURCE_EXHAUSTED",
		[]any{quotaHelp(), failure, retryInfo{rpc + "RetryInfo", protoSeconds(hint)}}}
	return e.reply(reasonOf(vs))
}

// hint is honest for minutes. For the free tier's day and for a limit of zero
// Gemini gives seconds that mean nothing.
func (s *Server) hint(v violation, seq int64) time.Duration {
	if v.limit == 0 || v.reason == ReasonRPD && s.cfg.Free {
		return 5*time.Second + time.Duration(s.random(seq, saltHint).Int64N(int64(50*time.Second)))
	}
	return max(v.wait, time.Millisecond)
}

func reasonOf(vs []violation) string {
	if vs[0].limit == 0 {
		return ReasonLimitZero
	}
	if len(vs) > 1 {
		return ReasonMixed
	}
	return vs[0].reason
}

func exhausted(reason, message string, details ...any) *reply {
	return apiError{http.StatusTooManyRequests, message, "RESOURCE_EXHAUSTED", details}.reply(reason)
}

// The refusals that name no quota.

func spendRateRefusal() *reply {
	return exhausted(ReasonSpendRate, "You exceeded your spend-based rate limit. Your spending rate has exceeded the allowed limit for your account's billing history and tier.")
}

func monthlyCapRefusal() *reply {
	return exhausted(ReasonMonthlyCap, "Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to manage your project.")
}

func accountCapRefusal() *reply {
	return exhausted(ReasonMonthlyCap, "Your billing account has exceeded its monthly spending cap")
}

// capacityRefusal is the bare 429 of a server that sheds load.
func capacityRefusal(reason string) *reply {
	return exhausted(reason, "Resource has been exhausted (e.g. check quota).")
}

// unknownRefusal has nothing but a link: it is sent for several causes.
func unknownRefusal() *reply { return exhausted(ReasonUnknown, quotaMessage, quotaHelp()) }

func prepayRefusal() *reply {
	return apiError{http.StatusPaymentRequired, "Your prepayment credits are depleted. Please go to AI Studio at " +
		"https://ai.studio/projects to manage your project and billing. Learn more at " +
		"https://ai.google.dev/gemini-api/docs/billing#prepay.", "RESOURCE_EXHAUSTED", nil}.reply(ReasonPrepay)
}
