package gemini

import (
	"net/http"
	"slices"
	"strings"

	"nightshift/limiter"
)

// DegradeCause is why a call got no answer of its model. The set is closed:
// answers are counted by it.
type DegradeCause string

// The causes. What is the caller's own fault is none: a request that is larger
// than a limit, malformed or blocked is refused as ever.
const (
	CauseQuota          DegradeCause = "quota"           // a limit of ours has no room, also for smoothing
	CauseShare          DegradeCause = "share"           // there is room, but not for this class
	CausePaused         DegradeCause = "paused"          // the class is paused
	CauseCooldown       DegradeCause = "cooldown"        // the provider asked for a rest
	CauseBreaker        DegradeCause = "breaker"         // calls are hopeless now
	CauseCredentials    DegradeCause = "credentials"     // the provider refuses our key
	CauseSpend          DegradeCause = "spend"           // a money limit is reached, ours or the provider's
	CauseSoftSpend      DegradeCause = "soft_spend"      // a money limit is nearly reached: a permit was given, and not used
	CauseDeadline       DegradeCause = "deadline"        // too little time is left for a call
	CauseUnavailable    DegradeCause = "unavailable"     // the shared state cannot be reached
	CauseProviderQuota  DegradeCause = "provider_quota"  // a 429 of the provider
	CauseProviderFailed DegradeCause = "provider_failed" // a 503, another failure, or no answer of the provider
)

// DegradeCauses are all, in the order in which they are counted; new ones go to
// the end.
var DegradeCauses = [...]DegradeCause{
	CauseQuota, CauseShare, CausePaused, CauseCooldown, CauseBreaker, CauseCredentials,
	CauseSpend, CauseSoftSpend, CauseDeadline, CauseUnavailable, CauseProviderQuota, CauseProviderFailed,
}

// causeNames are the causes in words, for messages.
func causeNames() string {
	var names []string
	for _, c := range DegradeCauses {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

func knownCause(c DegradeCause) bool { return slices.Contains(DegradeCauses[:], c) }

// causesOf are the limiter's refusals that another answer may take the place of.
var causesOf = map[limiter.Reason]DegradeCause{
	limiter.ReasonQuota:       CauseQuota,
	limiter.ReasonSmoothing:   CauseQuota,
	limiter.ReasonTurn:        CauseQuota,
	limiter.ReasonShare:       CauseShare,
	limiter.ReasonPaused:      CausePaused,
	limiter.ReasonCooldown:    CauseCooldown,
	limiter.ReasonBreaker:     CauseBreaker,
	limiter.ReasonCredentials: CauseCredentials,
	limiter.ReasonSpend:       CauseSpend,
	limiter.ReasonDeadline:    CauseDeadline,
	limiter.ReasonUnavailable: CauseUnavailable,
}

// causeOfDenied is "" for a refusal that is for good.
func causeOfDenied(d *limiter.Denied) DegradeCause {
	if d.Permanent {
		return ""
	}
	return causesOf[d.Reason]
}

// causeOfVerdict is "" for what the request itself brought about.
func causeOfVerdict(v *Verdict, status int) DegradeCause {
	switch {
	case v == nil || v.Scope == ScopeJob || v.Scope == ScopeTool || v.Reason == "cancelled":
		return ""
	case v.Credential:
		return CauseCredentials
	case v.Kind == BudgetStop:
		return CauseSpend
	case v.Kind == Wait, v.Kind == DailyReset, status == http.StatusTooManyRequests, v.Reason == "capacity":
		return CauseProviderQuota
	}
	return CauseProviderFailed
}
