package gateway

import (
	"encoding/json"
	"net/http"

	"nightshift/limiter/gemini"
)

// permitEnd is the body of …/settle.
type permitEnd struct {
	UsageMetadata json.RawMessage `json:"usageMetadata"` // as Gemini sends it
	Usage         *permitUsage    `json:"usage"`         // or plain counts
	Status        *int            `json:"status"`        // HTTP status of Gemini's answer; 0 when there was none
	Error         json.RawMessage `json:"error"`         // its body, with a status from 400 on: as JSON or as a string
	FinishReason  string          `json:"finish_reason"`
	LatencyMS     float64         `json:"latency_ms"`
	FirstTokenMS  float64         `json:"first_token_ms"`
	Partial       bool            `json:"partial"`
}

type permitUsage struct {
	InputTokens  int64 `json:"input_tokens"`
	CachedTokens int64 `json:"cached_tokens"` // of the input
	OutputTokens int64 `json:"output_tokens"` // thinking included
}

// end checks the fields.
func (p permitEnd) end() (gemini.LoanEnd, *apiError) {
	e := gemini.LoanEnd{Status: http.StatusOK, ErrorBody: errorBody(p.Error), Finish: p.FinishReason, Partial: p.Partial}
	var err *apiError
	if e.Usage, err = p.counted(); err != nil {
		return e, err
	}
	if p.Status != nil {
		e.Status = *p.Status
	}
	var ok [2]bool
	e.Latency, ok[0] = millis(p.LatencyMS)
	e.FirstToken, ok[1] = millis(p.FirstTokenMS)
	switch {
	case p.Partial && e.Usage == nil:
		return e, badRequest("partial: the usage so far is missing: send usageMetadata or usage")
	case e.Usage == nil && p.Status == nil:
		return e, badRequest("status: must be set without usage: the HTTP status of Gemini's answer, or 0 when none came")
	case e.Status != 0 && (e.Status < 100 || e.Status > 599):
		return e, badRequest("status: %d is no HTTP status", e.Status)
	case given(p.Error) && e.Status/100 == 2:
		return e, badRequest("error: it goes with the status that came with it, from 300 on")
	case !finishPattern.MatchString(p.FinishReason):
		return e, badRequest("finish_reason: want Gemini's own word, such as STOP")
	case !ok[0]:
		return e, badRequest("latency_ms: %v is no time that a call takes", p.LatencyMS)
	case !ok[1] || e.FirstToken > e.Latency:
		return e, badRequest("first_token_ms: %v is not between 0 and latency_ms", p.FirstTokenMS)
	}
	return e, nil
}

// counted gives the usage in either form; nil when there is none.
func (p permitEnd) counted() (*gemini.Usage, *apiError) {
	switch {
	case given(p.UsageMetadata) && p.Usage != nil:
		return nil, badRequest("want one of usageMetadata and usage, there are both")
	case p.Usage != nil:
		return p.Usage.usage()
	case !given(p.UsageMetadata):
		return nil, nil
	}
	u, ok := gemini.ParseUsage(p.UsageMetadata)
	if !ok {
		return nil, badRequest("usageMetadata: want it as Gemini sends it, with counts that are not all 0; leave it out when there was none")
	}
	return &u, nil
}

func (p permitUsage) usage() (*gemini.Usage, *apiError) {
	switch {
	case p.InputTokens < 0 || p.InputTokens > mostTokens:
		return nil, badRequest("usage.input_tokens: %d is no count of tokens", p.InputTokens)
	case p.OutputTokens < 0 || p.OutputTokens > mostTokens:
		return nil, badRequest("usage.output_tokens: %d is no count of tokens", p.OutputTokens)
	case p.CachedTokens < 0 || p.CachedTokens > p.InputTokens:
		return nil, badRequest("usage.cached_tokens: %d is no part of the input", p.CachedTokens)
	}
	return &gemini.Usage{Prompt: p.InputTokens, Cached: p.CachedTokens, Candidates: p.OutputTokens, Total: p.InputTokens + p.OutputTokens}, nil
}
