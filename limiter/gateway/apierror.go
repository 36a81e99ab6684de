package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// apiError is an error in Gemini's own shape (google.rpc.Status in JSON,
// https://google.aip.dev/193), which every SDK turns into its error type.
type apiError struct {
	Code    int    `json:"code"` // the HTTP status
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`

	retry time.Duration // for Retry-After; 0: no use in coming back
	whose string        // what of the caller's identity is refused, one of a closed set, for the log; "": nothing
}

// Error is the message.
func (e *apiError) Error() string { return e.Message }

// The names of google.rpc.Code that the gateway answers with.
const (
	invalidArgument    = "INVALID_ARGUMENT"
	permissionDenied   = "PERMISSION_DENIED"
	failedPrecondition = "FAILED_PRECONDITION"
	notFound           = "NOT_FOUND"
	aborted            = "ABORTED"
	resourceExhausted  = "RESOURCE_EXHAUSTED"
	unavailable        = "UNAVAILABLE"
	deadlineExceeded   = "DEADLINE_EXCEEDED"
	unimplemented      = "UNIMPLEMENTED"
)

func fail(code int, status, format string, args ...any) *apiError {
	return &apiError{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *apiError {
	return fail(http.StatusBadRequest, invalidArgument, format, args...)
}

// identity marks a refusal as one of who calls, as what.
func (e *apiError) identity(whose string) *apiError {
	e.whose = whose
	return e
}

// busy is a refusal that passes by itself.
func busy(retry time.Duration, format string, args ...any) *apiError {
	e := fail(http.StatusServiceUnavailable, unavailable, format, args...)
	e.hint(retry)
	return e
}

const rpcType = "type.googleapis.com/google.rpc."

type retryInfo struct {
	Type       string `json:"@type"`
	RetryDelay string `json:"retryDelay"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// hint says when to come back, in the body and for the Retry-After header.
func (e *apiError) hint(d time.Duration) {
	e.retry = d
	e.Details = append(e.Details, retryInfo{rpcType + "RetryInfo", protoSeconds(d)})
}

func (e *apiError) info(domain, reason string, metadata map[string]string) {
	e.Details = append(e.Details, errorInfo{rpcType + "ErrorInfo", reason, domain, metadata})
}

// body is the error as JSON, indented as Gemini's is.
func (e *apiError) body() []byte {
	b, err := json.MarshalIndent(map[string]*apiError{"error": e}, "", "  ")
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(b, '\n')
}

// write answers with the error.
func (e *apiError) write(w http.ResponseWriter) {
	b := e.body()
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("X-Content-Type-Options", "nosniff")
	if e.retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((e.retry+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(e.Code)
	_, _ = w.Write(b) // the client may have gone
}

// protoSeconds writes a duration as protobuf's JSON does: "1.5s".
func protoSeconds(d time.Duration) string {
	s := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second) // no float: strict clients take nine decimals at most
	return strings.TrimRight(strings.TrimRight(s, "0"), ".") + "s"
}
