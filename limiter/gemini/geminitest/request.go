package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// request is a call as far as it can be understood without the server's state.
type request struct {
	route
	found    bool // the path is one of ours
	key      string
	prompts  []*prompt // one, but for batchEmbedContents
	generate *generateRequest
	embeds   []embedRequest
	timeout  float64 // x-server-timeout in seconds; 0: none
	header   map[string]string
	bad      *reply // the request is wrong in itself
}

// maxBody is Gemini's limit for a request with inline data.
const maxBody = 20 << 20

// readRequest reads and closes the body.
func readRequest(r *http.Request) (*request, error) {
	q := &request{key: keyOf(r), header: noted(r.Header)}
	q.route, q.found = parseRoute(r.Method, r.URL)
	q.timeout, _ = strconv.ParseFloat(r.Header.Get("X-Server-Timeout"), 64)
	if r.Body == nil {
		return q, nil
	}
	defer r.Body.Close()
	if !q.found || !methods[q.method] {
		return q, nil
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	q.bad = q.parse(body)
	return q, nil
}

func readBody(r *http.Request) ([]byte, error) {
	if n := r.ContentLength; n > 0 && n <= maxBody {
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	return io.ReadAll(io.LimitReader(r.Body, maxBody+1))
}

func (q *request) parse(body []byte) *reply {
	switch {
	case len(body) > maxBody:
		return invalidArgument("bad_request", fmt.Sprintf("Request payload size exceeds the limit: %d bytes.", maxBody))
	case !utf8.Valid(body):
		return unknownField("Unexpected end of string. Invalid UTF-8.")
	case loneSurrogate(body):
		return unknownField("Unpaired low or high surrogate in a string.")
	}
	switch q.method {
	case methodEmbed:
		q.embeds = make([]embedRequest, 1)
		return q.decode(body, &q.embeds[0], q.checkEmbeds)
	case methodBatchEmbed:
		var batch batchEmbedRequest
		return q.decode(body, &batch, func() *reply { q.embeds = batch.Requests; return q.checkEmbeds() })
	case methodPredict:
		var p predictRequest
		return q.decode(body, &p, func() *reply { q.embeds = p.embeds(); return q.checkEmbeds() })
	case methodCount:
		var count countRequest
		return q.decode(body, &count, func() *reply { return q.checkCount(count) })
	default:
		q.generate = &generateRequest{}
		return q.decode(body, q.generate, func() *reply { return q.checkGenerate(q.generate) })
	}
}

// decode is strict and typed. What it does not know may be another spelling
// that protobuf's JSON allows, so it looks again before it refuses.
func (q *request) decode(body []byte, v any, then func() *reply) *reply {
	err := strict(body, v)
	if err != nil {
		if again := respell(body); again != nil {
			err = strict(again, v)
		}
	}
	if err == nil {
		return then()
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return unknownField("Unknown name " + asWritten(name, body) + ": Cannot find field.")
	}
	return unknownField(err.Error())
}

// asWritten gives a quoted name as the client spelled it.
func asWritten(name string, body []byte) string {
	if s := snake(name); bytes.Contains(body, []byte(s)) {
		return s
	}
	return name
}

func strict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// need is what the quotas are charged. Tokens are not counted where nothing is inferred.
func (q *request) need() need {
	switch q.method {
	case methodGenerate, methodStream, methodEmbed:
		return need{1, q.tokens()}
	case methodBatchEmbed, methodPredict:
		return need{max(int64(len(q.embeds)), 1), q.tokens()}
	default:
		return need{}
	}
}

func (q *request) tokens() (n int64) {
	for _, p := range q.prompts {
		n += p.total()
	}
	return n
}

// longest is the largest text, which must fit into the context.
func (q *request) longest() (n int64) {
	for _, p := range q.prompts {
		n = max(n, p.total())
	}
	return n
}

// digest stands for all texts of the request.
func (q *request) digest() (d uint64) {
	for _, p := range q.prompts {
		d = d*fnvPrime ^ p.digest
	}
	return d
}

// tier is what the client asked for.
func (q *request) tier() string {
	if q.generate == nil || q.generate.ServiceTier == "" {
		return tierStandard
	}
	return strings.ToLower(strings.TrimPrefix(q.generate.ServiceTier, "SERVICE_TIER_"))
}

// minDeadline is the least x-server-timeout that Gemini takes, in seconds.
const minDeadline = 10

// shortDeadline says that the client asked for too short a deadline.
func (q *request) shortDeadline() bool {
	return q.timeout > 0 && math.Ceil(q.timeout) < minDeadline
}
