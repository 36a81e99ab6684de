package gemini

import (
	"fmt"
	"net/http"
	"slices"
	"time"
	_ "time/tzdata" // the Pacific day must be known on hosts without zone files
)

// spendWindow is the rolling window of the spend-based rate limit
// (https://ai.google.dev/gemini-api/docs/rate-limits).
const spendWindow = 10 * time.Minute

func verdict(k Kind, s Scope, reason string, notes ...string) (Verdict, bool) {
	return Verdict{Kind: k, Scope: s, Reason: reason, Evidence: notes}, true
}

var none Verdict

// budget: money is spent. Since September 2026 empty prepaid credits are a 402;
// caps are a 429 without any details
// (https://ai.google.dev/gemini-api/docs/billing).
func budget(e *evidence) (Verdict, bool) {
	switch {
	case e.said("prepayment credits"), e.status == http.StatusPaymentRequired, e.coded("payment_required"):
		return verdict(BudgetStop, ScopeBilling, "prepay_empty", "prepaid credits are used up")
	case !e.said("spending cap", "spend cap"):
		return none, false
	case e.said("billing account"):
		v, ok := verdict(BudgetStop, ScopeBilling, "billing_cap", "the billing account's monthly cap is reached")
		v.RetryAt = NextPacificMonth(e.now)
		return v, ok
	}
	v, ok := verdict(BudgetStop, ScopeProject, "project_cap", "the project's monthly cap is reached")
	v.RetryAt = NextPacificMonth(e.now)
	return v, ok
}

func spendRate(e *evidence) (Verdict, bool) {
	if !e.said("spend-based rate limit", "spending rate has exceeded") {
		return none, false
	}
	v, ok := verdict(Wait, ScopeProject, "spend_rate", "spend-based rate limit")
	v.RetryAfter = max(spendWindow, e.hints.longest)
	return v, ok
}

// keyReasons are ErrorInfo reasons about the key, projectReasons about the
// project behind it
// (https://docs.cloud.google.com/service-infrastructure/docs/service-control/reference/rpc/google.api.error_reason).
var (
	keyReasons = []string{
		"API_KEY_INVALID", "API_KEY_EXPIRED", "API_KEY_SERVICE_BLOCKED", "API_KEY_HTTP_REFERRER_BLOCKED",
		"API_KEY_IP_ADDRESS_BLOCKED", "API_KEY_ANDROID_APP_BLOCKED", "API_KEY_IOS_APP_BLOCKED", "CREDENTIALS_MISSING",
		"ACCESS_TOKEN_EXPIRED", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "ACCESS_TOKEN_TYPE_UNSUPPORTED", "CONSUMER_SUSPENDED",
	}
	projectReasons = []string{"SERVICE_DISABLED", "CONSUMER_INVALID", "BILLING_DISABLED", "USER_PROJECT_DENIED", "RESOURCE_PROJECT_INVALID"}
)

// credentials: everybody's calls fail, not this row. A bad key is a 400.
func credentials(e *evidence) (Verdict, bool) {
	if r := e.reason(keyReasons...); r != "" {
		return refusedKey(lower(r), "reason "+r)
	}
	if r := e.reason(projectReasons...); r != "" {
		return verdict(Permanent, ScopeProject, lower(r), "reason "+r)
	}
	switch {
	case e.status == http.StatusUnauthorized, e.coded("authentication", "unauthenticated"):
		return refusedKey("unauthenticated", "status 401")
	case e.status != http.StatusBadRequest && e.status != http.StatusForbidden:
		return none, false
	case e.said("api key not valid", "api key expired", "api key not found"):
		return refusedKey("api_key_invalid", "the message says so")
	case e.said("unregistered callers"):
		return refusedKey("unauthenticated", "the call had no key")
	case e.said("reported as leaked"):
		return refusedKey("api_key_leaked", "the message says so")
	case e.said("has been suspended"):
		return refusedKey("consumer_suspended", "the message says so")
	case e.said("denied access"):
		return verdict(Permanent, ScopeProject, "project_denied", "the message says so")
	case e.said("it is disabled. enable it"):
		return verdict(Permanent, ScopeProject, "service_disabled", "the message says so")
	}
	return none, false
}

func refusedKey(reason, note string) (Verdict, bool) {
	return Verdict{Kind: Permanent, Scope: ScopeProject, Reason: reason, Evidence: []string{note}, Credential: true}, true
}

// place: where the call came from is not served.
func place(e *evidence) (Verdict, bool) {
	switch {
	case !e.said("location is not supported"):
		return none, false
	case e.said("billing account"):
		return verdict(Permanent, ScopeProject, "billing_required", "the free tier is not offered here")
	}
	return verdict(Permanent, ScopeWorker, "location", "the way out of this machine is in a region that is not served")
}

// quota: the worst of all the violations, in whatever order they come.
func quota(e *evidence) (Verdict, bool) {
	var worst Verdict
	var decided violation
	if !e.quotaAnswer() {
		return none, false
	}
	for _, q := range e.quotas {
		v := e.violated(q)
		if rank(v) > rank(worst) {
			worst, decided = v, q
		}
	}
	if worst.Kind == "" {
		return none, false
	}
	note := decided.evidence()
	worst.Bucket, worst.Evidence = namedModel(decided.model), append([]string{note}, e.others(note)...)
	if e.hints.longest > 0 {
		worst.Evidence = append(worst.Evidence, fmt.Sprintf("hint %s", e.hints.longest))
	}
	return worst, true
}

// mostNotes of a verdict are given, then how many more there are.
const mostNotes = 8

// namedModel is the model that a violation names; "" for what can be none.
func namedModel(model string) string {
	if model = NormalizeModel(Redact(model)); validModel(model) {
		return model
	}
	return ""
}

// others are notes of the violations that did not decide.
func (e *evidence) others(decided string) (notes []string) {
	for i, q := range e.quotas {
		if note := q.evidence(); note != decided && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		if more := len(e.quotas) - i - 1; len(notes) == mostNotes && more > 0 {
			return append(notes, fmt.Sprintf("and %d more", more))
		}
	}
	return notes
}

// violated says what one violation means. The hint never tells the kind: a
// spent day comes with a hint of seconds, and a quota of zero with one too.
func (e *evidence) violated(q violation) Verdict {
	n := q.names()
	v := Verdict{Scope: ScopeModel, Reason: n.unit(), Limit: q.value}
	if n.tool() {
		v.Scope = ScopeTool
	}
	switch window := n.window(); {
	case q.known && q.value == 0 && n.paid():
		v.Kind, v.Scope, v.Reason = BudgetStop, ScopeProject, "limit_zero"
	case q.known && q.value == 0:
		v.Kind, v.Reason = Permanent, "limit_zero"
	case window == dayWindow, window != minuteWindow && e.hints.longest >= time.Hour: // no minute's quota takes hours
		v.Kind, v.RetryAt, v.Reason = DailyReset, e.dayEnds(), n.perDay()
		v.RetryAfter = v.RetryAt.Sub(e.now)
	case window == minuteWindow, window == likelyMinute:
		v.Kind, v.RetryAfter = Wait, min(e.waitOr(time.Minute), time.Hour)
	case e.hints.longest > 0:
		v.Kind, v.RetryAfter = Wait, e.hints.longest
	default:
		v.Kind = Unknown
	}
	return v
}

// dayEnds is the Pacific midnight, or what a hint of an hour and more says:
// such hints come with paid daily quotas and are right.
func (e *evidence) dayEnds() time.Time {
	if e.hints.longest >= time.Hour {
		return e.now.Add(e.hints.longest)
	}
	return NextPacificMidnight(e.now)
}

func (e *evidence) waitOr(d time.Duration) time.Duration {
	if e.hints.longest > 0 {
		return e.hints.longest
	}
	return d
}

// rank orders kinds from what passes soonest to what stops most.
func rank(v Verdict) int {
	switch v.Kind {
	case Unknown:
		return 1
	case Backoff:
		return 2
	case Wait:
		return 3
	case DailyReset:
		return 4
	case Permanent:
		return 5
	case BudgetStop:
		return 6
	}
	return 0
}

var pacific = func() *time.Location {
	loc, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		panic(err) // tzdata is embedded
	}
	return loc
}()

// NextPacificMidnight is when daily quotas are reset
// (https://ai.google.dev/gemini-api/docs/rate-limits), right on days of 23 and
// 25 hours.
func NextPacificMidnight(now time.Time) time.Time {
	y, m, d := now.In(pacific).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, pacific)
}

// NextPacificMonth is when monthly caps begin anew.
func NextPacificMonth(now time.Time) time.Time {
	y, m, _ := now.In(pacific).Date()
	return time.Date(y, m+1, 1, 0, 0, 0, 0, pacific)
}
