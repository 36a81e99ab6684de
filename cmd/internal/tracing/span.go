// Package tracing tells an OpenTelemetry collector how rows and calls went. Spans are
// made from what is known once something has ended: call records and looks at rows.
// So nothing is carried about while a call is made, and nothing is linked into its way
// while nobody traces.
//
// A row's trace has an id that follows from the row's, so that the process that
// enqueues, each worker that looks and a retry weeks later write into one trace
// without anything in the task. Spans hold no prompt, no answer and no key.
package tracing

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// span is one of OTLP's JSON encoding
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids in hex,
// 64-bit integers as text.
type span struct {
	Trace  string `json:"traceId"`
	ID     string `json:"spanId"`
	Parent string `json:"parentSpanId,omitempty"`
	Name   string `json:"name"`
	Kind   int    `json:"kind"`
	Start  string `json:"startTimeUnixNano"`
	End    string `json:"endTimeUnixNano"`
	Attrs  []attr `json:"attributes,omitempty"`
	Status status `json:"status"`
}

// Kinds of spans.
const (
	kindInternal = 1
	kindServer   = 2
	kindClient   = 3
	kindProducer = 4
	kindConsumer = 5
)

// statusError is OTLP's code for what failed; 0 says nothing.
const statusError = 2

type status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

type attr struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text *string `json:"stringValue,omitempty"`
	Int  *string `json:"intValue,omitempty"`
}

// attrs collects what is not empty.
type attrs []attr

func (a *attrs) text(key, v string) {
	if v != "" {
		*a = append(*a, attr{key, value{Text: &v}})
	}
}

func (a *attrs) int(key string, v int64) {
	if v != 0 {
		text := strconv.FormatInt(v, 10)
		*a = append(*a, attr{key, value{Int: &text}})
	}
}

// newSpan is a span of a trace; its id follows from what it is of, so that one that
// is told twice is one.
func newSpan(trace, parent, name string, kind int, of string, start, end time.Time) span {
	if end.Before(start) {
		end = start
	}
	return span{Trace: trace, ID: idOf(8, trace, name, of, strconv.FormatInt(start.UnixNano(), 10)), Parent: parent, Name: name, Kind: kind,
		Start: strconv.FormatInt(start.UnixNano(), 10), End: strconv.FormatInt(end.UnixNano(), 10)}
}

// idOf makes an id of n bytes from parts.
func idOf(n int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:n])
}

// rootOf is the id of the span that all others of a row's trace are in.
func rootOf(trace string) string { return idOf(8, trace, "root") }
