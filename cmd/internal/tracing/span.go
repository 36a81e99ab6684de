// Package tracing tells an OpenTelemetry collector how rows and calls went, by
// OpenTelemetry's own library. Spans are made from what is known once something has
// ended: call records and looks at rows. So nothing is carried about while a call is
// made, and nothing is linked into its way while nobody traces.
//
// A row's trace has an id that follows from the row's, so that the process that
// enqueues, each worker that looks and a retry weeks later write into one trace
// without anything in the task. Spans hold no prompt, no answer and no key.
package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// span is one that is to be told. Its ids are in hex.
type span struct {
	Trace, ID, Parent string
	Name              string
	Kind              trace.SpanKind
	Start, End        time.Time
	Attrs             attrs
	Failed            string // why; "" when it did not
}

// attrs collects what is not empty.
type attrs []attribute.KeyValue

func (a *attrs) text(key, v string) {
	if v != "" {
		*a = append(*a, attribute.String(key, v))
	}
}

func (a *attrs) int(key string, v int64) {
	if v != 0 {
		*a = append(*a, attribute.Int64(key, v))
	}
}

// newSpan is a span of a trace; its id follows from what it is of, so that one that
// is told twice is one.
func newSpan(in, parent, name string, kind trace.SpanKind, of string, start, end time.Time) span {
	if end.Before(start) {
		end = start
	}
	return span{Trace: in, ID: idOf(8, in, name, of, strconv.FormatInt(start.UnixNano(), 10)), Parent: parent, Name: name, Kind: kind, Start: start, End: end}
}

// put gives spans to the library, which never waits.
func (t *Tracer) put(spans ...span) {
	for _, s := range spans {
		ctx := context.WithValue(context.Background(), given{}, spanContext(s.Trace, s.ID))
		if s.Parent != "" {
			ctx = trace.ContextWithRemoteSpanContext(ctx, spanContext(s.Trace, s.Parent))
		}
		_, out := t.out.Start(ctx, s.Name, trace.WithSpanKind(s.Kind), trace.WithTimestamp(s.Start), trace.WithAttributes(s.Attrs...))
		if s.Failed != "" {
			out.SetStatus(codes.Error, s.Failed)
		}
		out.End(trace.WithTimestamp(s.End))
	}
}

func spanContext(in, id string) trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled, Remote: true}
	c.TraceID, _ = trace.TraceIDFromHex(in) // what is no id is nowhere
	c.SpanID, _ = trace.SpanIDFromHex(id)
	return trace.NewSpanContext(c)
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
func rootOf(in string) string { return idOf(8, in, "root") }
