package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// apiError is Gemini's error body: {"error": {…}}.
type apiError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type localizedMessage struct {
	Type    string `json:"@type"`
	Locale  string `json:"locale"`
	Message string `json:"message"`
}

type help struct {
	Type  string     `json:"@type"`
	Links []helpLink `json:"links"`
}

type helpLink struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

type quotaFailure struct {
	Type       string           `json:"@type"`
	Violations []quotaViolation `json:"violations"`
}

// quotaViolation leaves a value of zero out, as proto3 does.
type quotaViolation struct {
	QuotaMetric     string            `json:"quotaMetric"`
	QuotaID         string            `json:"quotaId"`
	QuotaDimensions map[string]string `json:"quotaDimensions"`
	QuotaValue      int64             `json:"quotaValue,string,omitempty"`
}

type retryInfo struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
}

type badRequest struct {
	Type            string           `json:"@type"`
	FieldViolations []fieldViolation `json:"fieldViolations"`
}

type fieldViolation struct {
	Field       string `json:"field,omitempty"`
	Description string `json:"description"`
}

const rpc = "type.googleapis.com/google.rpc."

func quotaHelp() help {
	return help{rpc + "Help", []helpLink{{"Learn more about Gemini API quotas", "https://ai.google.dev/gemini-api/docs/rate-limits"}}}
}

// body is the error as it goes over the wire, indented as Gemini does it.
func (e apiError) body() []byte {
	b, err := json.MarshalIndent(map[string]apiError{"error": e}, "", "  ")
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(b, '\n')
}

func (e apiError) reply(reason string) *reply {
	return &reply{status: e.Code, contentType: typeJSON, body: e.body(), reason: reason}
}

func invalidArgument(reason, message string, details ...any) *reply {
	return apiError{http.StatusBadRequest, message, "INVALID_ARGUMENT", details}.reply(reason)
}

func keyInvalid() *reply {
	const message = "API key not valid. Please pass a valid API key."
	return invalidArgument("api_key_invalid", message,
		errorInfo{rpc + "ErrorInfo", "API_KEY_INVALID", "googleapis.com", map[string]string{"service": service}},
		localizedMessage{rpc + "LocalizedMessage", "en-US", message})
}

func keyMissing() *reply {
	return apiError{http.StatusForbidden, "Method doesn't allow unregistered callers (callers without established identity). " +
		"Please use API Key or other form of API consumer identity to call this API.", "PERMISSION_DENIED", nil}.reply("no_api_key")
}

func modelNotFound(r route) *reply {
	return apiError{http.StatusNotFound, fmt.Sprintf("models/%s is not found for API version %s, or is not supported for %s. "+
		"Call ModelService.ListModels to see the list of available models and their supported methods.", r.model, r.version, r.method),
		"NOT_FOUND", nil}.reply("model_not_found")
}

// pathNotFound is the bare 404 of Google's front end for a path no API has.
func pathNotFound() *reply {
	return &reply{status: http.StatusNotFound, contentType: "text/html; charset=UTF-8", reason: "path_not_found"}
}

func tooManyTokens(limit int64) *reply {
	return invalidArgument("too_many_tokens", fmt.Sprintf("The input token count exceeds the maximum number of tokens allowed %d.", limit))
}

// deadlineTooShort is the answer to an x-server-timeout under ten seconds.
func deadlineTooShort(seconds float64) *reply {
	return invalidArgument("deadline_too_short", fmt.Sprintf("Manually set deadline %vs is too short. Minimum allowed deadline is 10s.", seconds))
}

func unknownField(message string) *reply {
	message = "Invalid JSON payload received. " + message
	return invalidArgument("bad_request", message, badRequest{rpc + "BadRequest", []fieldViolation{{Description: message}}})
}

func deadlineExpired() *reply {
	return apiError{http.StatusGatewayTimeout, "Deadline expired before operation could complete.", "DEADLINE_EXCEEDED", nil}.reply("deadline")
}

func unavailable() *reply {
	return apiError{http.StatusServiceUnavailable, "This model is currently experiencing high demand. " +
		"Spikes in demand are usually temporary. Please try again later.", "UNAVAILABLE", nil}.reply("")
}

func internalError() *reply {
	return apiError{http.StatusInternalServerError, "An internal error has occurred. " +
		"Please retry or report in https://developers.generativeai.google/guide/troubleshooting", "INTERNAL", nil}.reply("")
}

// protoSeconds writes a duration as protobuf's JSON does.
func protoSeconds(d time.Duration) string {
	s := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second) // no float: strict clients take nine decimals at most
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "s"
}
