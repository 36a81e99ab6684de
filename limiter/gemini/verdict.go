package gemini

import "time"

// Kind is what a failed call means for those who come after it (design 5).
type Kind string

// The kinds.
const (
	Wait       Kind = "wait"        // come back at RetryAt: a minute window, or the ten-minute spend window
	Backoff    Kind = "backoff"     // capacity or a passing fault: try again with growing delay
	DailyReset Kind = "daily_reset" // the day's quota is spent: not before the Pacific midnight
	BudgetStop Kind = "budget_stop" // money or a billing gate: not before the month ends or an operator acts
	Permanent  Kind = "permanent"   // the same call can never succeed
	Unknown    Kind = "unknown"     // the answer does not say
)

// Scope is who is affected by a verdict.
type Scope string

// The scopes, from the smallest.
const (
	ScopeJob     Scope = "job"
	ScopeTool    Scope = "tool" // one tool or feature of the API; the same call without it works
	ScopeModel   Scope = "model"
	ScopeProject Scope = "project"
	ScopeBilling Scope = "billing_account"
	ScopeWorker  Scope = "worker" // this machine's way out
)

// Verdict is what Classify makes of a provider's answer.
type Verdict struct {
	Kind       Kind          `json:"kind"`
	Scope      Scope         `json:"scope"`
	RetryAfter time.Duration `json:"-"` // 0: the answer gives no time
	RetryAt    time.Time     `json:"retry_at,omitzero"`
	Reason     string        `json:"reason"`               // short and stable: "rpm", "input_tpm", "rpd", "limit_zero", "capacity", "api_key_invalid", …
	Evidence   []string      `json:"evidence,omitempty"`   // what in the answer decided, in words
	Bucket     string        `json:"bucket,omitempty"`     // the model that the provider counts against, when it says
	Limit      int64         `json:"limit,omitempty"`      // quotaValue, when it says
	Credential bool          `json:"credential,omitempty"` // the key itself is refused
}
