package gemini

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// evidence is what there is to judge an answer by.
type evidence struct {
	status   int             // of HTTP, or where that says nothing of the error inside
	codes    map[string]bool // string codes and gRPC statuses, in lower case
	reasons  map[string]bool // of ErrorInfo, as they are written
	quotas   []violation
	hints    hints
	messages string // what was said to people, in lower case
	text     string // the whole body in lower case
	html     bool
	now      time.Time
}

// gather reads an answer. Everything structured goes before the text.
func gather(a Answer, now time.Time) *evidence {
	body := bytes.TrimLeft(a.Body, " \r\n\t\ufeff")
	e := &evidence{codes: map[string]bool{}, reasons: map[string]bool{}, now: now, status: a.Status}
	if len(body) > 0 && body[0] == '<' {
		e.html = true
		e.hints = findHints(nil, "", a.Header, now)
		return e
	}
	raw := string(body[:min(len(body), shredBytes)])
	objects := shred(raw)
	e.text = strings.ToLower(raw)
	e.readErrors(objects)
	e.quotas = findViolations(objects)
	e.hints = findHints(objects, raw, a.Header, now)
	if e.messages == "" {
		e.messages = e.text
	}
	if e.status == 0 || e.status/100 == 2 {
		e.status = e.statusInside()
	}
	return e
}

// readErrors collects codes, reasons and messages. The innermost error's
// numeric code is the provider's own; what wraps it is a proxy's.
func (e *evidence) readErrors(objects []object) {
	var said strings.Builder
	for i := range objects {
		o := &objects[i]
		for _, p := range o.pairs {
			switch strings.ToLower(p.key) {
			case "code":
				e.code(p.value, o.braced)
			case "status":
				if p.value == strings.ToUpper(p.value) {
					e.codes[strings.ToLower(p.value)] = true
				}
			case "reason":
				e.reasons[p.value] = true
			case "message":
				said.WriteString(strings.ToLower(p.value))
				said.WriteByte('\n')
			}
		}
	}
	e.messages = said.String()
}

func (e *evidence) code(value string, braced bool) {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		e.codes[strings.ToLower(value)] = true
	case n >= 400 && n < 600 && (braced || e.status/100 == 2):
		e.status = n
	}
}

// statusInside gives the HTTP status that the named code stands for, where HTTP
// gave none.
func (e *evidence) statusInside() int {
	if e.status >= 400 {
		return e.status
	}
	for _, c := range codeStatus {
		if e.codes[c.code] || e.status == 0 && strings.Contains(c.code, "_") && strings.Contains(e.text, c.code) {
			return c.status
		}
	}
	return e.status
}

// codeStatus is the HTTP status of each gRPC status and of each string code of
// the Interactions API (https://ai.google.dev/gemini-api/docs/api-errors), the
// gravest first.
var codeStatus = []struct {
	code   string
	status int
}{
	{"payment_required", 402},
	{"unauthenticated", 401},
	{"authentication", 401},
	{"permission_denied", 403},
	{"quota_exceeded", 429},
	{"resource_exhausted", 429},
	{"rate_limit_exceeded", 429},
	{"too_many_requests", 429},
	{"invalid_argument", 400},
	{"invalid_request", 400},
	{"failed_precondition", 400},
	{"out_of_range", 400},
	{"not_found", 404},
	{"already_exists", 409},
	{"aborted", 409},
	{"cancelled", 499},
	{"unimplemented", 501},
	{"deadline_exceeded", 504},
	{"service_unavailable", 503},
	{"unavailable", 503},
	{"internal", 500},
	{"api_error", 500},
}

// quotaAnswer says that quota names in the text are about this refusal.
func (e *evidence) quotaAnswer() bool {
	return e.status == http.StatusTooManyRequests || e.status == 0 || e.codes["resource_exhausted"] || e.codes["quota_exceeded"]
}

func (e *evidence) said(phrases ...string) bool { return containsAny(e.messages, phrases...) }

func (e *evidence) reason(names ...string) string {
	for _, n := range names {
		if e.reasons[n] {
			return n
		}
	}
	return ""
}

func (e *evidence) coded(names ...string) bool {
	for _, n := range names {
		if e.codes[n] {
			return true
		}
	}
	return false
}
