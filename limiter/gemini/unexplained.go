package gemini

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"nightshift/limiter"
)

// Unexplained takes answers that Classify could not explain, so that a user can
// report them. *UnexplainedStore is one.
type Unexplained interface {
	Keep(context.Context, UnexplainedAnswer) error
}

// UnexplainedAnswer is one in a form that may be shown to others: without keys,
// tokens, project numbers, addresses and what was asked. Its fields are those of a
// saved answer, so that it can be classified again (ParseSaved).
type UnexplainedAnswer struct {
	Status  int               `json:"http_status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Bytes   int               `json:"bytes"` // of the body as it came; it is kept up to 4 kB
	Reason  string            `json:"reason"`
	Lane    string            `json:"lane"`             // region/model of the latest
	Method  string            `json:"method,omitempty"` //
	Class   string            `json:"class,omitempty"`  //
	Count   int64             `json:"count"`            // how many of its shape there were
	First   time.Time         `json:"first"`            // Redis's clock, as is Last
	Last    time.Time         `json:"last"`
}

// unexplainedBytes of a body are kept.
const unexplainedBytes = 4 << 10

// toldHeaders are the headers that say something about a refusal.
var toldHeaders = []string{
	"Content-Type", "Retry-After", "Server", "Via", "X-Gemini-Service-Tier",
	"X-Vertex-Ai-Llm-Request-Type", "X-Vertex-Ai-Llm-Shared-Request-Type",
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
}

// keepUnexplained hands over an answer whose verdict is Unknown.
func (c *call) keepUnexplained(a *answer, got Answer) {
	if c.t.cfg.Unexplained == nil || c.obs.Verdict == nil || c.obs.Verdict.Kind != Unknown || got.Err != nil {
		return
	}
	if a.failure != nil {
		got.Body = a.failure
	}
	u := showable(got, c.body, c.key)
	u.Reason, u.Lane, u.Method, u.Class = c.obs.Verdict.Reason, laneKey(c.obs.Lane.String()), c.route.method, c.caller.Class
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.t.cfg.Bounds.Settle)
	defer cancel()
	if err := c.t.cfg.Unexplained.Keep(ctx, u); err != nil {
		c.t.log.Warn("an answer that nobody can explain is not kept", "lane", u.Lane, "status", u.Status, "error", Redact(err.Error()))
	}
}

// showable takes out of an answer what is nobody's business.
func showable(got Answer, request []byte, key string) UnexplainedAnswer {
	body := string(got.Body[:min(len(got.Body), 2*unexplainedBytes)])
	body = withoutPrompt(redactKey(body, key), request)
	u := UnexplainedAnswer{
		Status: got.Status, Headers: map[string]string{}, Bytes: len(got.Body),
		Body: clip(strings.ToValidUTF8(anonymous(body), "\ufffd"), unexplainedBytes),
	}
	for _, name := range toldHeaders {
		if v := got.Header.Get(name); v != "" {
			u.Headers[name] = clip(anonymous(redactKey(v, key)), 200)
		}
	}
	return u
}

// shape is the same for answers that differ in numbers only.
func (u UnexplainedAnswer) shape() string {
	same := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, u.Body)
	sum := sha256.Sum256([]byte(http.StatusText(u.Status) + strconv.Itoa(u.Status) + same))
	return hex.EncodeToString(sum[:8])
}

// unexplainedKeys are under the hash tag of the limiter's scope.
//
//	…:unexplained       hash: shape → "count firstMS lastMS|UnexplainedAnswer as JSON"
//	…:unexplained:last  sorted set of the shapes by their last time
func unexplainedKeys(s limiter.Scope) []string {
	root := "nightshift:{limiter:" + s.String() + "}:unexplained"
	return []string{root, root + ":last"}
}
