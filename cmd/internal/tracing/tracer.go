package tracing

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"strings"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// Tracer makes spans. It takes what the worker and the transport tell anyway, and is
// safe for concurrent use.
type Tracer struct {
	project  string
	ratio    float64
	provider *sdk.TracerProvider
	out      trace.Tracer
	exporter *exporter
}

// ID is the trace of a row, the same in every process.
func (t *Tracer) ID(task jobs.Task) string { return idOf(16, "row", t.project, task.ID()) }

// sampled says whether a trace is told: by its id, so that all processes agree.
func (t *Tracer) sampled(in string) bool {
	if t.ratio >= 1 {
		return true
	}
	raw, err := hex.DecodeString(in)
	if err != nil || len(raw) != 16 {
		return false
	}
	n := uint64(0)
	for _, b := range raw[8:] {
		n = n<<8 | uint64(b)
	}
	return float64(n)/math.MaxUint64 < t.ratio
}

// Enqueued tells of the rows that a run began with, from index 0 on. It waits for the
// collector, which takes more rows than its queue has room for, until the collector is
// away or ten seconds are over: then the other rows are without this span.
func (t *Tracer) Enqueued(run jobs.Run, rows int64, from, to time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	told := 0
	for i := range rows {
		task := jobs.Task{Run: run.ID, Index: i}
		in := t.ID(task)
		if !t.sampled(in) {
			continue
		}
		s := newSpan(in, rootOf(in), "enqueue", trace.SpanKindProducer, task.ID(), from, to)
		s.Attrs = rowAttrs(task, run.Spec)
		t.put(s)
		if told++; told%(mostQueued/2) == 0 && (t.provider.ForceFlush(ctx) != nil || t.exporter.away.Load()) {
			t.exporter.log.Warn("the collector is too slow or away: later rows have no span of their enqueueing", "rows", rows-i-1, "remedy", "telemetry.sample")
			return
		}
	}
}

func rowAttrs(task jobs.Task, spec jobs.Spec) (a attrs) {
	a.text("nightshift.run", task.Run)
	a.int("nightshift.generation", int64(task.Gen))
	a.text("nightshift.class", spec.Class)
	a.text("nightshift.feature", spec.Feature)
	a.text("nightshift.tenant", spec.Tenant)
	a.text("nightshift.lane", spec.Lane)
	a.text("gen_ai.request.model", spec.Model)
	return a
}

// Looked tells how a look at a row ended. With the row's end its waits and the row
// itself are told too.
func (t *Tracer) Looked(l worker.Look) {
	in := t.ID(l.Task)
	if !t.sampled(in) {
		return
	}
	root := rootOf(in)
	look := newSpan(in, root, "look", trace.SpanKindConsumer, l.Task.ID(), l.Began, l.Settling)
	look.Attrs = rowAttrs(l.Task, l.Spec)
	look.Attrs.int("nightshift.attempt", int64(l.Attempt))
	look.Attrs.text("nightshift.state", l.State.String())
	look.Attrs.text("nightshift.reason", l.Reason)
	settle := newSpan(in, root, "settle", trace.SpanKindInternal, l.Task.ID(), l.Settling, l.Ended)
	settle.Attrs.text("nightshift.state", l.State.String())
	t.put(look, settle)
	if l.State.Terminal() {
		t.put(waitOf(in, l), rowOf(in, l))
	}
}

// waitOf is the time from the row's enqueueing to its last look, with what of it was
// spent on which cause.
func waitOf(in string, l worker.Look) span {
	s := newSpan(in, rootOf(in), "wait", trace.SpanKindInternal, l.Task.ID(), l.Enqueued, l.Began)
	for cause, ms := range l.Waits.Millis() {
		s.Attrs.int("nightshift.wait."+cause+"_ms", ms)
	}
	return s
}

func rowOf(in string, l worker.Look) span {
	s := newSpan(in, "", "row", trace.SpanKindInternal, l.Task.ID(), l.Enqueued, l.Ended)
	s.ID, s.Attrs = rootOf(in), rowAttrs(l.Task, l.Spec)
	s.Attrs.text("nightshift.row", l.Row)
	s.Attrs.text("nightshift.state", l.State.String())
	s.Attrs.int("nightshift.attempt", int64(l.Attempt))
	if !l.State.Good() {
		s.Failed = cmp.Or(l.Reason, l.State.String())
	}
	return s
}

// Put tells of a call: the permit and the call of a row are in the row's trace, those
// of a caller of the gateway in the caller's, under a span of the gateway's own.
func (t *Tracer) Put(r gemini.Record) {
	if !traceID(r.TraceID) {
		return
	}
	parent, of := rootOf(r.TraceID), r.Permit+r.Run+r.Row
	if r.Run == "" {
		up, flags, _ := strings.Cut(r.Parent, "-")
		if up == "" && !t.sampled(r.TraceID) || up != "" && !strings.HasSuffix(flags, "1") {
			return // who began the trace has decided
		}
		s := callSpan(r, newSpan(r.TraceID, up, "nightshift "+cmp.Or(r.Method, "call"), trace.SpanKindServer, of, r.Time, r.Time.Add(ms(r.WaitMS+r.TookMS))))
		parent = s.ID
		t.put(s)
	} else if !t.sampled(r.TraceID) {
		return
	}
	granted := r.Time.Add(ms(r.WaitMS))
	if r.Permit != "" || r.Refusal != "" {
		t.put(permitSpan(r, newSpan(r.TraceID, parent, "permit", trace.SpanKindInternal, of, r.Time, granted)))
	}
	if r.Sent {
		t.put(callSpan(r, newSpan(r.TraceID, parent, "call", trace.SpanKindClient, of, granted, granted.Add(ms(r.TookMS)))))
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// traceID tells W3C's ids from those that callers give us otherwise.
func traceID(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 16
}

// callerAttrs say who called, in which lane.
func callerAttrs(r gemini.Record) (a attrs) {
	a.text("nightshift.lane", r.Lane)
	a.text("nightshift.class", r.Class)
	a.text("nightshift.feature", r.Feature)
	a.text("nightshift.tenant", r.Path.Tenant)
	a.text("nightshift.run", r.Run)
	return a
}

func permitSpan(r gemini.Record, s span) span {
	a := callerAttrs(r)
	a.text("nightshift.permit", r.Permit)
	a.text("nightshift.reason", string(r.Refusal))
	a.text("nightshift.limit", r.Limit)
	a.text("nightshift.node", r.Node)
	if s.Attrs = a; r.Refusal != "" {
		s.Failed = string(r.Refusal)
	}
	return s
}

func callSpan(r gemini.Record, s span) span {
	a := callerAttrs(r)
	a.text("gen_ai.provider.name", "gcp.gemini")
	a.text("gen_ai.request.model", r.Lane[strings.LastIndexByte(r.Lane, '/')+1:])
	a.int("http.response.status_code", int64(r.Status))
	a.int("nightshift.attempt", int64(r.Attempt))
	a.text("nightshift.decision", string(r.Decision))
	a.text("nightshift.verdict", string(r.Verdict))
	a.text("nightshift.reason", r.Reason)
	a.int("nightshift.first_token_ms", r.FirstMS)
	if u := r.Usage; u != nil {
		a.text("nightshift.tier", u.Tier)
		a.int("gen_ai.usage.input_tokens", u.Prompt)
		a.int("gen_ai.usage.output_tokens", u.Candidates+u.Thoughts)
	}
	if r.MicroUSD != nil {
		a.int("nightshift.micro_usd", *r.MicroUSD)
	}
	if s.Attrs = a; r.Verdict != "" || r.Refusal != "" {
		s.Failed = cmp.Or(string(r.Refusal), string(r.Verdict))
	}
	return s
}
