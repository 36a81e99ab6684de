package gemini

import (
	"net/http"
	"time"
)

// Answer is what came back for a call: an HTTP answer, or the error of the way.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error
}

// Classify says what a failed answer means.
func Classify(a Answer, now time.Time) Verdict {
	return Verdict{Kind: Unknown, Scope: ScopeModel, Reason: "unknown"}
}
