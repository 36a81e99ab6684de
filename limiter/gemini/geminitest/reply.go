package geminitest

import (
	"encoding/json"
	"net/http"
	"time"
)

const (
	typeJSON = "application/json; charset=UTF-8"
	typeSSE  = "text/event-stream"
)

// reply is an answer before it is written, unary or in chunks.
type reply struct {
	status      int
	contentType string
	header      http.Header
	body        []byte
	chunks      [][]byte // a stream; body is then empty
	end         ending
	reason      string

	usage  usage
	first  time.Duration // from the arrival to the first byte
	gap    time.Duration // between chunks
	billed bool
}

// ending is how the connection goes on after what was written.
type ending int

const (
	endClean ending = iota
	endCut          // breaks
	endReset        // breaks before anything was written
	endHang         // nothing was written and nothing will be
)

func okReply(v any) *reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	return &reply{status: http.StatusOK, contentType: typeJSON, body: b}
}

// headers are those of the answer, but for its length.
func (r *reply) headers() http.Header {
	h := http.Header{"Content-Type": {r.contentType}, "Server": {"scaffolding on HTTPServer2"}}
	if r.usage.tier != "" {
		h["X-Gemini-Service-Tier"] = []string{r.usage.tier}
	}
	for name, values := range r.header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}
