package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// refusalOf puts an error of the way out into Gemini's shape.
func refusalOf(err error) *apiError {
	var denied *limiter.Denied
	var refused *gemini.RefusedError
	var own *apiError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &denied):
		return denial(denied)
	case errors.As(err, &refused):
		return notServed(refused)
	case errors.Is(err, errCallTime), errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusGatewayTimeout, deadlineExceeded, "the provider did not answer in time")
	case errors.Is(err, context.Canceled):
		return fail(statusClientGone, "CANCELLED", "the client has gone")
	}
	return fail(http.StatusBadGateway, unavailable, "the provider could not be reached, or broke its answer off")
}

// statusClientGone is what Google and nginx write down for a caller that did not wait.
const statusClientGone = 499

// served is what a caller is told who asks for something else.
const served = "this gateway serves generateContent, streamGenerateContent, embedContent, batchEmbedContents and countTokens of a model, and models list and get, under /v1beta, /v1 and /v1alpha"

func notServed(r *gemini.RefusedError) *apiError {
	e := &apiError{Code: r.Status, Status: invalidArgument, Message: r.Why}
	switch r.Status {
	case http.StatusNotFound:
		e.Status, e.Message = notFound, r.Why+"; "+cmp.Or(r.Served, served)
	case http.StatusForbidden:
		e.Status = permissionDenied
	case http.StatusMethodNotAllowed:
		e.Status = unimplemented
	}
	return e
}

// denial is the limiter's refusal. Its message is for people, who would look at
// Google for the cause if it did not say who refuses; the ErrorInfo is for programs.
func denial(d *limiter.Denied) *apiError {
	code, status := statusOf(d)
	why := d.Error()
	if d.Reason == limiter.ReasonUnavailable {
		why = fmt.Sprintf("no permit for %s as %s: the gateway cannot reach its Redis", d.Model, d.Class)
	}
	e := &apiError{Code: code, Status: status, Message: "nightshift: " + why}
	if !d.Permanent && d.RetryAfterMS > 0 {
		e.hint(d.RetryAfter())
	}
	e.info("nightshift", strings.ToUpper(string(d.Reason)), metadataOf(d))
	return e
}

// statusOf is 429 for what passes as quota frees, so that SDKs back off as they
// do for the provider's own; other statuses where waiting is not the answer, or
// where it is not quota that is missing.
func statusOf(d *limiter.Denied) (int, string) {
	switch d.Reason {
	case limiter.ReasonTooLarge:
		return http.StatusBadRequest, invalidArgument
	case limiter.ReasonUnknownLane:
		if d.Permanent {
			return http.StatusNotFound, notFound
		}
		return http.StatusServiceUnavailable, unavailable
	case limiter.ReasonUnavailable, limiter.ReasonCredentials, limiter.ReasonBreaker:
		return http.StatusServiceUnavailable, unavailable
	case limiter.ReasonDeadline:
		return http.StatusGatewayTimeout, deadlineExceeded
	}
	return http.StatusTooManyRequests, resourceExhausted
}

// metadataOf gives every field of a refusal as ErrorInfo wants it: flat, and
// all strings. A nested field is joined with an underscore, amounts by unit, and holders by class.
func metadataOf(d *limiter.Denied) map[string]string {
	b, err := json.Marshal(d)
	if err != nil {
		panic(err) // our own type: strings, numbers and times
	}
	var fields map[string]any
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	if err := dec.Decode(&fields); err != nil {
		panic(err)
	}
	delete(fields, "estimates")
	delete(fields, "holders")
	out := map[string]string{}
	flatten(out, "", fields)
	for unit, n := range d.Estimates {
		if n != 0 {
			out["estimates_"+limiter.Unit(unit).String()] = fmt.Sprint(n)
		}
	}
	for _, h := range d.Holders {
		out["holders_"+h.Class] = fmt.Sprint(h.Used)
	}
	if d.RetryAt.IsZero() {
		delete(out, "retry_at")
	}
	return out
}

func flatten(out map[string]string, prefix string, fields map[string]any) {
	for name, v := range fields {
		if nested, ok := v.(map[string]any); ok {
			flatten(out, prefix+name+"_", nested)
			continue
		}
		out[prefix+name] = fmt.Sprint(v)
	}
}
