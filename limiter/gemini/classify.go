package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Answer is what came back for a call: an HTTP answer, or the error of the way.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error
}

// mostEvidence is the bytes of one note of a verdict's evidence: it goes into
// results, records and logs.
const mostEvidence = 300

// Classify says what a failed answer means. It decides on structure (details,
// reasons, codes, whatever they are wrapped in), takes the worst of several
// violations, and reads the message only where nothing else tells. An answer
// that is an ordinary 200 is judged by what is in it; a good one gives the zero
// Verdict.
func Classify(a Answer, now time.Time) Verdict {
	if a.Err != nil {
		return errorVerdict(a.Err)
	}
	if a.Status/100 == 2 {
		seen := wholeAnswer(a.Body)
		if seen.failure == nil {
			return *cmp.Or(judgeAnswer(seen, route{rule: rules["generateContent"]}, a.Header, now), &Verdict{})
		}
		a.Body = seen.failure
	}
	e := gather(a, now)
	v := e.judge()
	if len(v.Evidence) == 0 {
		v.Evidence = []string{fmt.Sprintf("status %d", e.status)}
	}
	for i, s := range v.Evidence { // names of quotas are what the answer says they are
		v.Evidence[i] = clip(Redact(s), mostEvidence)
	}
	if v.RetryAt.IsZero() && v.RetryAfter > 0 {
		v.RetryAt = now.Add(v.RetryAfter)
	}
	return v
}

// wholeAnswer looks through a 200's body, a stream's too.
func wholeAnswer(body []byte) *answer {
	a := newAnswer()
	if eventStream(body) {
		(&events{answer: a}).push(body)
	} else {
		a.push(body)
	}
	return a
}

// eventStream says whether a body is one of server-sent events, by its first line.
func eventStream(body []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(body, "\ufeff\r\n"), []byte{'\n'})
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(line, []byte(field)) {
			return true
		}
	}
	return false
}

// judge asks the rules in order; the first that knows decides.
func (e *evidence) judge() Verdict {
	for _, rule := range []func(*evidence) (Verdict, bool){
		budget, spendRate, credentials, place, quota, named, hinted, byText, byStatus,
	} {
		if v, ok := rule(e); ok {
			return v
		}
	}
	return Verdict{Kind: Unknown, Scope: ScopeModel, Reason: reasonUnexplained, RetryAfter: e.hints.longest}
}

// errorVerdict is for calls that got no answer.
func errorVerdict(err error) Verdict {
	v := Verdict{Kind: Backoff, Scope: ScopeModel, Reason: "connection", Evidence: []string{clip(Redact(err.Error()), mostEvidence)}}
	var timeout net.Error
	var dial *net.OpError
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, errAbandoned):
		v.Scope, v.Reason = ScopeJob, "cancelled"
	case errors.As(err, &dns), errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect"), never(err):
		v.Scope, v.Reason = ScopeWorker, "network"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		v.Reason = "timeout"
	}
	return v
}

// never holds for errors that every call from this process meets: nothing of
// ours reached the API, and no row is to blame.
func never(err error) bool {
	var cert *tls.CertificateVerificationError // a proxy that reads along, or a wrong clock
	return errors.As(err, &cert) || errors.Is(err, http.ErrSchemeMismatch) ||
		strings.Contains(err.Error(), "net/http: invalid header field") // of net/http, which has no type for it
}
