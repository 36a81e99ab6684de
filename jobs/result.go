package jobs

import (
	"encoding/json"
	"time"
)

// Usage is what a call used, in the provider's terms: Prompt includes Cached;
// Output excludes Thoughts.
type Usage struct {
	Prompt   int64 `json:"prompt_tokens"`
	Cached   int64 `json:"cached_tokens,omitempty"`
	Output   int64 `json:"output_tokens"`
	Thoughts int64 `json:"thought_tokens,omitempty"`
	ToolUse  int64 `json:"tool_use_tokens,omitempty"`
	Total    int64 `json:"total_tokens"`
}

// Result is one row's end: one line of the results file.
type Result struct {
	Row       string          `json:"id"`
	Run       string          `json:"run"`
	Index     int64           `json:"n"`                // place in the input, from 0
	Status    string          `json:"status"`           // State.String of a terminal state
	Output    string          `json:"output,omitempty"` // the answer's text, thoughts left out
	Raw       string          `json:"raw,omitempty"`    // the first answer as it came, where Output is not that: it was asked again, or JSON was taken out of a fence
	Parsed    json.RawMessage `json:"parsed,omitempty"` // the answer as JSON when the run asks for JSON
	Embedding []float32       `json:"embedding,omitempty"`
	Fields    json.RawMessage `json:"fields,omitempty"`       // the row's own fields, unchanged
	Model     string          `json:"model,omitempty"`        // the version that served
	Instead   string          `json:"instead_of,omitempty"`   // the run's model, where another one answered that the run allows
	Tier      string          `json:"service_tier,omitempty"` // the tier that served, and was paid: "standard", "flex", "priority"; of generation only
	Finish    string          `json:"finish_reason,omitempty"`
	Usage     *Usage          `json:"usage,omitempty"`
	MicroUSD  *int64          `json:"cost_micro_usd,omitempty"` // absent when no price is known
	Attempts  int             `json:"attempts"`                 // 0 for a row that was never asked
	WaitedMS  int64           `json:"waited_ms,omitempty"`      // from enqueue to the permit
	// WaitsMS is what of that was spent on what, by WaitCause.String. Time between
	// two attempts counts; the attempts themselves do not.
	WaitsMS  map[string]int64 `json:"waits_ms,omitempty"`
	TookMS   int64            `json:"took_ms,omitempty"`
	Error    *RowError        `json:"error,omitempty"`
	Key      string           `json:"key,omitempty"`        // digest of all that makes the answer: resume and cache compare it
	Finished time.Time        `json:"finished_at,omitzero"` // absent for a row that ended without a call
	From     *Origin          `json:"from,omitempty"`       // of a cached row: where its answer was made
}

// Origin is the row that an answer was made for which another row took over.
type Origin struct {
	Run      string    `json:"run"` // its id; the run may have been purged since
	Row      string    `json:"row"`
	Finished time.Time `json:"finished_at,omitzero"` // when the answer was made
}

// RowError says why a row has no good result.
type RowError struct {
	Cause   string `json:"cause"`            // short and stable: "invalid_request", "safety", "max_tokens", "schema", "attempts_exhausted", …; retry --only takes it
	Status  int    `json:"status,omitempty"` // HTTP status of the last answer
	Message string `json:"message"`          // redacted, cut to a few hundred bytes
}
