package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"time"

	"nightshift/limiter/gemini"
)

// Bounds of a report.
const (
	mostReported = 1000
	reportBody   = 1 << 20
)

// report is one call as its maker tells it. Class and feature are the caller's
// own unless it names others, as with headers.
type report struct {
	Model        string          `json:"model"`
	Class        string          `json:"class"`
	Feature      string          `json:"feature"`
	InputTokens  int64           `json:"input_tokens"`
	OutputTokens int64           `json:"output_tokens"`  // thinking included
	Status       int             `json:"status"`         // HTTP status; 0 when there was no answer
	LatencyMS    float64         `json:"latency_ms"`     // from sending to the last byte
	FirstTokenMS float64         `json:"first_token_ms"` // of a stream
	Error        json.RawMessage `json:"error"`          // the body of the provider's refusal, as JSON or as a string
	TraceID      string          `json:"trace_id"`
}

// reports reads a list of calls, or one.
func (v *visit) reports() ([]report, *apiError) {
	b := &body{g: v.g, rc: v.w.rc, src: v.r.Body}
	defer b.free()
	raw, err := io.ReadAll(io.LimitReader(b, reportBody+1))
	switch {
	case err != nil:
		return nil, clientError(err)
	case len(raw) > reportBody:
		return nil, fail(http.StatusRequestEntityTooLarge, invalidArgument, "the report is larger than %d bytes: send it in parts", reportBody)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	var list []report
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, badJSON("a call or a list of calls as JSON", err)
	}
	switch _, err := dec.Token(); {
	case !errors.Is(err, io.EOF):
		return nil, badRequest("want a call or a list of calls as JSON, and nothing after it")
	case len(list) == 0 || len(list) > mostReported:
		return nil, badRequest("want 1 to %d calls in a report, there are %d", mostReported, len(list))
	}
	return list, nil
}

// direct checks a report.
func (v *visit) direct(r report) (gemini.DirectCall, *apiError) {
	c := gemini.DirectCall{
		Model: r.Model, Class: v.caller.Class, Feature: v.caller.Feature, Path: v.caller.Path,
		InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, Status: r.Status,
		ErrorBody: errorBody(r.Error), TraceID: r.TraceID,
	}
	if err := v.nameDirect(&c, r); err != nil {
		return c, err
	}
	var ok [2]bool
	c.Latency, ok[0] = millis(r.LatencyMS)
	c.FirstToken, ok[1] = millis(r.FirstTokenMS)
	switch {
	case r.InputTokens < 0 || r.InputTokens > 1e9:
		return c, badRequest("input_tokens: %d is no count of tokens", r.InputTokens)
	case r.OutputTokens < 0 || r.OutputTokens > 1e9:
		return c, badRequest("output_tokens: %d is no count of tokens", r.OutputTokens)
	case r.Status != 0 && (r.Status < 100 || r.Status > 599):
		return c, badRequest("status: %d is no HTTP status", r.Status)
	case !ok[0]:
		return c, badRequest("latency_ms: %v is no time that a call takes", r.LatencyMS)
	case !ok[1] || c.FirstToken > c.Latency:
		return c, badRequest("first_token_ms: %v is not between 0 and latency_ms", r.FirstTokenMS)
	}
	return c, nil
}

// nameDirect checks what a report says of model, class, feature and trace.
func (v *visit) nameDirect(c *gemini.DirectCall, r report) (err *apiError) {
	if r.Model == "" {
		return badRequest("model: must be set")
	}
	c.Model = v.g.cfg.Routes.Real(r.Model)
	if _, _, err := v.g.cfg.Lanes.Lookup(c.Model); err != nil {
		return badRequest("model: %v", err)
	}
	if c.Class, c.Feature, err = v.named(r.Class, r.Feature); err != nil {
		return err
	}
	if r.TraceID != "" && !tracePattern.MatchString(r.TraceID) {
		return badRequest("trace_id: %.80q: want 8 to 64 of letters, digits, dot, dash and underscore", r.TraceID)
	}
	return nil
}

// named gives class and feature of a call that is described in a body: those of the
// request unless it names others.
func (v *visit) named(class, feature string) (string, string, *apiError) {
	was := v.caller
	if class != "" {
		var err *apiError
		// The key's class is as high as its holder may say.
		if was.Class, err = v.g.classOf(Identity{ID: v.who.ID, Class: v.caller.Class}, "class", class); err != nil {
			return "", "", err
		}
	}
	was.Feature = cmp.Or(feature, was.Feature)
	return was.Class, was.Feature, v.g.refusesFeature(v.who, "feature", was.Feature)
}

// millis reads milliseconds of up to a day.
func millis(ms float64) (time.Duration, bool) {
	if math.IsNaN(ms) || ms < 0 || ms > 24*60*60*1000 {
		return 0, false
	}
	return time.Duration(ms * float64(time.Millisecond)), true
}

// errorBody gives the provider's words, also when they come as a string.
func errorBody(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	return raw
}
