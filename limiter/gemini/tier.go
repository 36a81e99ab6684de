package gemini

import (
	"cmp"
	"net/http"
)

// The service tiers of synchronous calls, as a request asks for them
// (https://ai.google.dev/gemini-api/docs/optimization). Batch is none: it is
// another API.
const (
	TierStandard = "standard"
	TierFlex     = "flex"     // half the price, within minutes, and refused where capacity is short
	TierPriority = "priority" // dearer; over its own limit it is served and billed as standard
)

// ReasonFlex is the verdict's reason where flex has no capacity now: calls of
// other tiers are served all the same.
const ReasonFlex = "flex_capacity"

// flexVerdict takes what sheds or holds up a call of the flex tier for what it
// is: nothing about the row, and nothing about the lane, whose other calls do
// not go through flex. There is no fall-back at the provider's
// (https://ai.google.dev/gemini-api/docs/flex-inference).
func flexVerdict(v Verdict, asked string) Verdict {
	if asked != TierFlex || v.Kind != Backoff || v.Scope != ScopeModel {
		return v
	}
	switch v.Reason {
	case "overloaded", reasonCapacity, "timeout":
		v.Scope, v.Evidence = ScopeTool, append(v.Evidence, "of the flex tier: "+v.Reason)
		v.Reason = ReasonFlex
	}
	return v
}

// servedTier is the tier that served: the header says it, and usage, of an
// answer that says neither the one that was asked for is taken.
func servedTier(h http.Header, reported, asked string) string {
	if tier := tierName(h.Get("X-Gemini-Service-Tier"), ""); tier != "" {
		return tier
	}
	return cmp.Or(reported, asked)
}
