package gemini

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"nightshift/limiter"
)

// Count is how many of something, or how much.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// The codes of what a sample counts besides its counters. They are stored: a list
// may grow at its end, and nothing in it moves.
const (
	tallyRefused = 1000 // + 100 × whose limit + which, or + reasonAt + the reason
	tallyTheirs  = 2000 // + which of the provider's
	tallyRetried = 3000 // + why
	tallyWaited  = 4000 // + what for: milliseconds
	tallyRows    = 5000 // + what rows waited for: milliseconds
	tallyEnded   = 6000 // rows that waited so

	reasonAt = 900
	codesOf  = 100 // of whose limits, and of which
)

// RetriedByUs is what UsageSample.Retried calls the rows that our own limiter sent back:
// they were put into the line again, and are among Queued.
const RetriedByUs = "own limiter"

var (
	// tallyScopes are whose limits refuse: the lane's, what of it the class may use,
	// a node's of the path. Nine fit below reasonAt.
	tallyScopes = []string{"lane", "class", "organization", "tenant", "team", "key", "feature", otherLabel, "run"}
	// tallyLimits are the limits by shorthand.
	tallyLimits = []string{otherLabel, "rpm", "input_tpm", "output_tpm", "total_tpm", "ipm", "rpd", "tpd", "concurrency",
		"streams", "usd_per_10m", "usd_per_day", "usd_per_month", "usd_total"}
	// tallyTheir are the provider's reasons to refuse.
	tallyTheir = []string{otherLabel, "rpm", "input_tpm", "rpd", "tpd", "capacity", "spend", "limit_zero"}
	// tallyRetry are the reasons for which a row that a worker had begun comes again.
	tallyRetry = []string{RetriedByUs, "provider 429", "provider 5xx", "no answer", otherLabel}
	// tallyWaits are what is waited for. The words are those of rows.
	tallyWaits = []string{otherLabel, "queue", "turn", "quota", "share", "window", "paused", "health", "spend", "errors", "slots"}
)

// codeOf is a name's place in a list; that of "other" where it is not in it.
func codeOf(list []string, name string) int64 {
	if i := slices.Index(list, name); i >= 0 {
		return int64(i)
	}
	return int64(max(0, slices.Index(list, otherLabel)))
}

func (s *UsageSample) tally(code, n int64) {
	if n > 0 {
		s.tallies.Merge(Histogram{[]bin{{code, n}}})
	}
}

// countCauses counts what became of the call by cause.
func (s *UsageSample) countCauses(r Record) {
	switch {
	case r.Sent:
		s.countTheirs(r)
	case r.Decision == limiter.Queued:
		s.tally(refusedCode(r), 1)
		if r.Run != "" && r.Refusal != limiter.ReasonSlots {
			s.tally(tallyRetried+codeOf(tallyRetry, RetriedByUs), 1)
		}
	case refusedForNow(r):
		s.tally(refusedCode(r), 1)
	}
	if r.WaitMS > 0 && (r.Sent || r.Decision != limiter.Queued) {
		s.tally(tallyWaited+codeOf(tallyWaits, waitWord(r.WaitedFor)), r.WaitMS)
	}
}

// refusedCode says which rule refused: whose limit it is, or the reason where no
// limit binds.
func refusedCode(r Record) int64 {
	scope, _, _ := strings.Cut(cmp.Or(r.Node, "lane"), "/")
	if r.Refusal == limiter.ReasonShare {
		scope = "class"
	}
	if r.Limit != "" && r.Refusal != limiter.ReasonProvider {
		return tallyRefused + codesOf*codeOf(tallyScopes, scope) + codeOf(tallyLimits, r.Limit)
	}
	i := slices.Index(refusalReasons, r.Refusal)
	return tallyRefused + reasonAt + int64(i+1) // 0: saved money, or unknown
}

// countTheirs counts the provider's refusals, and the rows that come again for what
// it did.
func (s *UsageSample) countTheirs(r Record) {
	if refusedThere(r) {
		s.tally(tallyTheirs+codeOf(tallyTheir, theirWord(r)), 1)
	}
	if r.Run == "" || r.Verdict == "" || r.Verdict == Permanent || r.Affects == ScopeJob {
		return
	}
	why := otherLabel
	switch {
	case refusedThere(r) && r.Status < http.StatusInternalServerError:
		why = "provider 429"
	case r.Status >= http.StatusInternalServerError:
		why = "provider 5xx"
	case r.Status == 0:
		why = "no answer"
	}
	s.tally(tallyRetried+codeOf(tallyRetry, why), 1)
}

func theirWord(r Record) string {
	if r.Verdict == BudgetStop {
		return "spend"
	}
	return r.Reason
}

// waitWord is what a caller waits for, in the words of rows.
func waitWord(r limiter.Reason) string {
	switch r {
	case limiter.ReasonQuota, limiter.ReasonSmoothing, limiter.ReasonSlots, limiter.ReasonCooldown, limiter.ReasonProvider:
		return "quota"
	case limiter.ReasonShare, limiter.ReasonTurn, limiter.ReasonPaused, limiter.ReasonSpend:
		return string(r)
	case limiter.ReasonNoPrice:
		return "spend"
	case limiter.ReasonBreaker, limiter.ReasonCredentials, limiter.ReasonUnavailable:
		return "errors"
	}
	return otherLabel
}
