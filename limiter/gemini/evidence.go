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
	bare     bool            // HTTP gave no status
	codes    map[string]bool // string codes and gRPC statuses, in lower case
	reasons  map[string]bool // of ErrorInfo, as they are written
	quotas   []violation
	known    map[violation]bool // the quotas, so that none is there twice
	hints    hints
	messages string // what was said to people, in lower case
	text     string // the body in lower case, as far as it is read for words
	html     bool
	looked   int // bytes that were taken apart, over all levels: the work
	now      time.Time
}

// wordBytes bounds what is searched for words. What is structured is read in full.
const wordBytes = 512 << 10

// gather reads an answer. Everything structured goes before the text.
func gather(a Answer, now time.Time) *evidence {
	body := bytes.TrimLeft(a.Body, " \r\n\t\ufeff")
	e := &evidence{codes: map[string]bool{}, reasons: map[string]bool{}, known: map[violation]bool{}, now: now, status: a.Status}
	e.bare = a.Status == 0 || a.Status >= firstCloseCode
	if e.bare {
		e.status = 0
	}
	if len(body) > 0 && body[0] == '<' {
		e.html = true
		e.text = lower(string(body[:min(len(body), pageBytes)]))
	} else {
		e.read(string(body))
	}
	e.hints.head(a.Header, now)
	if e.messages == "" {
		e.messages = e.text
	}
	if e.status == 0 || e.status/100 == 2 {
		e.status = e.statusInside(a.Status)
	}
	return e
}

// read takes apart a body that is no page.
func (e *evidence) read(raw string) {
	var said, text strings.Builder
	for part := range parts(raw) {
		objects, looked := shred(part)
		e.looked += looked
		e.readErrors(objects, &said)
		for _, q := range findViolations(objects) {
			if !e.known[q] {
				e.known[q] = true
				e.quotas = append(e.quotas, q)
			}
		}
		part = lower(part[:min(len(part), max(0, wordBytes-text.Len()))])
		text.WriteString(part)
		e.hints.find(objects, part, e.now)
	}
	e.messages, e.text = said.String(), text.String()
}

// readErrors collects codes, reasons and messages. The innermost error's
// numeric code is the provider's own; what wraps it is a proxy's.
func (e *evidence) readErrors(objects []object, said *strings.Builder) {
	for i := range objects {
		o := &objects[i]
		for j := range o.pairs {
			switch p := &o.pairs[j]; {
			case p.is("code"):
				e.code(p.value, o.braced)
			case p.is("status"):
				if p.value == strings.ToUpper(p.value) {
					e.codes[lower(p.value)] = true
				}
			case p.is("reason"):
				e.reasons[p.value] = true
			case p.is("message") && said.Len() < wordBytes:
				said.WriteString(lower(p.value))
				said.WriteByte('\n')
			}
		}
	}
}

func (e *evidence) code(value string, braced bool) {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		e.codes[lower(value)] = true
	case n >= 400 && n < 600 && (braced || e.bare || e.status/100 == 2):
		e.status = n
	}
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
	{"out_of_range", 416},
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
