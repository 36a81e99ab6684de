package limiter

import (
	"slices"
	"strings"
)

// contestedReasons are the rules by which calls compete with each other for quota.
// Not among them: money, a key that the provider refuses, what people or the scheduler
// stopped, a breaker, bad input, and a shared state that is away. Those refuse whoever
// comes, and fewer calls of another class would not help.
var contestedReasons = []Reason{
	ReasonQuota, ReasonShare, ReasonSmoothing, ReasonTurn, ReasonCooldown, ReasonProvider,
}

// Contested says whether a refusal is for quota that calls of other classes may have
// taken: requests, tokens or concurrency of a lane, or of a node that all calls of a
// project share. It is the one rule for who is to blame for refusals, and whether
// pausing somebody can help. limit and node are Denied's; either may be "".
func Contested(reason Reason, limit, node string) bool {
	if strings.HasPrefix(limit, "usd_") || !slices.Contains(contestedReasons, reason) {
		return false
	}
	kind, _, _ := strings.Cut(node, "/")
	return kind == "" || kind == "lane" || kind == ProjectKind || kind == "organization"
}
