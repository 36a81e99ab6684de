package gemini

import (
	"net/http"
	"strings"
	"time"
)

func lower(s string) string { return strings.ToLower(s) }

// Codes of the Interactions API that say what was wrong with the answer
// (https://ai.google.dev/gemini-api/docs/api-errors).
var (
	blockedCodes = []string{"safety", "recitation", "language", "prohibited_content", "spii", "blocklist",
		"image_safety", "image_prohibited_content", "image_recitation", "content_blocked"}
	sampledCodes = []string{"malformed_function_call", "malformed_tool_call", "unexpected_tool_call", "no_image",
		"image_other", "too_many_tool_calls", "missing_thought_signature"}
)

// named decides by the string codes that are narrower than their status.
func named(e *evidence) (Verdict, bool) {
	switch {
	case e.coded("quota_exceeded"):
		v, ok := verdict(DailyReset, ScopeModel, "rpd", "code quota_exceeded")
		v.RetryAt = e.dayEnds()
		v.RetryAfter = v.RetryAt.Sub(e.now)
		return v, ok
	case e.coded("rate_limit_exceeded", "too_many_requests") && e.hints.longest == 0:
		return verdict(Backoff, ScopeModel, "capacity", "code of a passing limit")
	case e.coded(blockedCodes...):
		return verdict(Permanent, ScopeJob, ReasonBlocked, "code of blocked content")
	case e.coded(sampledCodes...):
		return verdict(Backoff, ScopeJob, ReasonFinishRetry, "code of a failed generation")
	}
	return none, false
}

// reasonHinted is the reason of a verdict that names no limit.
const reasonHinted = "quota"

// hinted: a 429 that gives nothing but a time.
func hinted(e *evidence) (Verdict, bool) {
	if e.status != http.StatusTooManyRequests || e.hints.longest == 0 || e.hints.header && e.said(shared...) {
		return none, false
	}
	v, ok := verdict(Wait, ScopeModel, reasonHinted, "hint "+e.hints.longest.String())
	v.RetryAfter = e.hints.longest
	if e.said(daily...) {
		v.Kind, v.Reason, v.RetryAt = DailyReset, "rpd", e.dayEnds()
		v.RetryAfter = v.RetryAt.Sub(e.now)
	}
	return v, ok
}

// daily is how texts speak of a day's quota.
var daily = []string{"per day", "/day", "daily quota", "daily limit", "daily request", "requests today"}

// shared is how capacity that all customers share refuses: no quota of ours is
// spent, whatever the console shows.
var shared = []string{
	"resource exhausted", "resource has been exhausted", "provisioned throughput", "overloaded", "high demand",
	"no capacity", "concurrent sessions", "too many requests", "exhausted your capacity",
}

// byText is for 429s that say it in words only.
func byText(e *evidence) (Verdict, bool) {
	if e.status != http.StatusTooManyRequests && e.status != 0 {
		return none, false
	}
	switch {
	case e.said(daily...):
		v, ok := verdict(DailyReset, ScopeModel, "rpd", "the message speaks of a day")
		v.RetryAt = e.dayEnds()
		v.RetryAfter = v.RetryAt.Sub(e.now)
		return v, ok
	case e.said("per minute"):
		v, ok := verdict(Wait, ScopeModel, "rpm", "the message speaks of a minute")
		v.RetryAfter = e.waitOr(time.Minute)
		return v, ok
	case e.said(shared...):
		v, ok := verdict(Backoff, ScopeModel, "capacity", "shared capacity, not a quota")
		v.RetryAfter = e.hints.longest
		return v, ok
	}
	return none, false
}

// byStatus is for everything else. Which 4xx are about the row and which about
// everybody was decided before.
func byStatus(e *evidence) (Verdict, bool) {
	switch e.status {
	case http.StatusBadRequest:
		return badRequest(e)
	case http.StatusForbidden:
		if e.said("access the file", "permission to access the", "cachedcontent") && !e.html {
			return verdict(Permanent, ScopeJob, "not_accessible", "about a file or cached content")
		}
		return verdict(Permanent, ScopeProject, "permission_denied", "status 403")
	case http.StatusNotFound:
		return notFound(e)
	case http.StatusTooManyRequests, 0:
		return none, false
	case 499, http.StatusConflict:
		return verdict(Backoff, ScopeJob, "cancelled", "status of a call that was broken off")
	case http.StatusNotImplemented:
		return verdict(Permanent, ScopeJob, "unimplemented", "status 501")
	}
	return byRange(e)
}

func byRange(e *evidence) (Verdict, bool) {
	if e.status >= 500 || e.status == http.StatusRequestTimeout {
		v, ok := verdict(Backoff, ScopeModel, "server_error")
		switch e.status {
		case http.StatusServiceUnavailable:
			v.Reason = "overloaded"
		case http.StatusGatewayTimeout, http.StatusRequestTimeout:
			v.Reason = "timeout"
		}
		v.RetryAfter = e.hints.longest
		return v, ok
	}
	if e.status >= 400 {
		return verdict(Permanent, ScopeJob, "refused")
	}
	return none, false
}

func badRequest(e *evidence) (Verdict, bool) {
	switch {
	case e.said("exceeds the maximum number of tokens", "token count exceeds", "only supports up to", "input is too long"):
		return verdict(Permanent, ScopeJob, "too_long", "the message says so")
	case e.said("deadline") && e.said("too short", "minimum"):
		return verdict(Backoff, ScopeJob, "deadline", "the deadline sent was under the provider's least")
	case e.coded("failed_precondition"):
		return verdict(Permanent, ScopeProject, "failed_precondition", "status FAILED_PRECONDITION")
	case e.html:
		return verdict(Backoff, ScopeModel, "server_error", "a front end's page, not the API's answer")
	}
	return verdict(Permanent, ScopeJob, "invalid_argument", "status 400")
}

// notFound tells a model that is not there from a file that is not.
func notFound(e *evidence) (Verdict, bool) {
	switch {
	case e.said("models/", "model ") && e.said("not found", "not supported", "no longer available", "deprecated", "shut down"):
		return verdict(Permanent, ScopeModel, reasonNoModel, "the message names the model")
	case e.html || strings.TrimSpace(e.text) == "":
		return verdict(Unknown, ScopeModel, "not_the_api", "status 404 without an answer of the API: is the base URL right?")
	}
	return verdict(Permanent, ScopeJob, "not_found", "status 404")
}
