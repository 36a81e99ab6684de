package tracing

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"nightshift/jobs"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// Tracer makes spans. It takes what the worker and the transport tell anyway, and is
// safe for concurrent use.
type Tracer struct {
	project string
	ratio   float64
	out     *exporter
}

// ID is the trace of a row, the same in every process.
func (t *Tracer) ID(task jobs.Task) string { return idOf(16, "row", t.project, task.ID()) }

// sampled says whether a trace is told: by its id, so that all processes agree.
func (t *Tracer) sampled(trace string) bool {
	if t.ratio >= 1 {
		return true
	}
	raw, err := hex.DecodeString(trace)
	if err != nil || len(raw) != 16 {
		return false
	}
	n := uint64(0)
	for _, b := range raw[8:] {
		n = n<<8 | uint64(b)
	}
	return float64(n)/math.MaxUint64 < t.ratio
}

// Enqueued tells of the rows that a run began with, from index 0 on.
func (t *Tracer) Enqueued(run jobs.Run, rows int64, from, to time.Time) {
	for i := range rows {
		task := jobs.Task{Run: run.ID, Index: i}
		trace := t.ID(task)
		if !t.sampled(trace) {
			continue
		}
		s := newSpan(trace, rootOf(trace), "enqueue", kindProducer, task.ID(), from, to)
		s.Attrs = rowAttrs(task, run.Spec)
		t.out.put(s)
	}
}

func rowAttrs(task jobs.Task, spec jobs.Spec) (a attrs) {
	a.text("nightshift.run", task.Run)
	a.int("nightshift.generation", int64(task.Gen))
	a.text("nightshift.class", spec.Class)
	a.text("nightshift.feature", spec.Feature)
	a.text("nightshift.tenant", spec.Tenant)
	a.text("gen_ai.request.model", spec.Model)
	return a
}

// Looked tells how a look at a row ended. With the row's end its waits and the row
// itself are told too.
func (t *Tracer) Looked(l worker.Look) {
	trace := t.ID(l.Task)
	if !t.sampled(trace) {
		return
	}
	root := rootOf(trace)
	look := newSpan(trace, root, "look", kindConsumer, l.Task.ID(), l.Began, l.Settling)
	look.Attrs = rowAttrs(l.Task, l.Spec)
	(*attrs)(&look.Attrs).int("nightshift.attempt", int64(l.Attempt))
	(*attrs)(&look.Attrs).text("nightshift.state", l.State.String())
	(*attrs)(&look.Attrs).text("nightshift.reason", l.Reason)
	settle := newSpan(trace, root, "settle", kindInternal, l.Task.ID(), l.Settling, l.Ended)
	(*attrs)(&settle.Attrs).text("nightshift.state", l.State.String())
	t.out.put(look, settle)
	if l.State.Terminal() {
		t.out.put(waitOf(trace, l), rowOf(trace, l))
	}
}

// waitOf is the time from the row's enqueueing to its last look, with what of it was
// spent on which cause.
func waitOf(trace string, l worker.Look) span {
	s := newSpan(trace, rootOf(trace), "wait", kindInternal, l.Task.ID(), l.Enqueued, l.Began)
	for cause, ms := range l.Waits.Millis() {
		(*attrs)(&s.Attrs).int("nightshift.wait."+cause+"_ms", ms)
	}
	return s
}

func rowOf(trace string, l worker.Look) span {
	s := newSpan(trace, "", "row", kindInternal, l.Task.ID(), l.Enqueued, l.Ended)
	s.ID, s.Attrs = rootOf(trace), rowAttrs(l.Task, l.Spec)
	(*attrs)(&s.Attrs).text("nightshift.row", l.Row)
	(*attrs)(&s.Attrs).text("nightshift.state", l.State.String())
	(*attrs)(&s.Attrs).int("nightshift.attempt", int64(l.Attempt))
	if !l.State.Good() {
		s.Status = status{statusError, l.Reason}
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
		s := callSpan(r, newSpan(r.TraceID, up, "nightshift "+cmp.Or(r.Method, "call"), kindServer, of, r.Time, r.Time.Add(ms(r.WaitMS+r.TookMS))))
		parent = s.ID
		t.out.put(s)
	} else if !t.sampled(r.TraceID) {
		return
	}
	granted := r.Time.Add(ms(r.WaitMS))
	if r.Permit != "" || r.Refusal != "" {
		t.out.put(permitSpan(r, newSpan(r.TraceID, parent, "permit", kindInternal, of, r.Time, granted)))
	}
	if r.Sent {
		t.out.put(callSpan(r, newSpan(r.TraceID, parent, "call", kindClient, of, granted, granted.Add(ms(r.TookMS)))))
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// traceID tells W3C's ids from those that callers give us otherwise.
func traceID(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 16
}

func permitSpan(r gemini.Record, s span) span {
	var a attrs
	a.text("nightshift.class", r.Class)
	a.text("nightshift.permit", r.Permit)
	a.text("nightshift.reason", string(r.Refusal))
	a.text("nightshift.limit", r.Limit)
	a.text("nightshift.node", r.Node)
	if s.Attrs = a; r.Refusal != "" {
		s.Status = status{statusError, string(r.Refusal)}
	}
	return s
}

func callSpan(r gemini.Record, s span) span {
	var a attrs
	a.text("gen_ai.provider.name", "gcp.gemini")
	a.text("gen_ai.request.model", r.Lane[strings.LastIndexByte(r.Lane, '/')+1:])
	a.int("http.response.status_code", int64(r.Status))
	a.int("nightshift.attempt", int64(r.Attempt))
	a.text("nightshift.class", r.Class)
	a.text("nightshift.feature", r.Feature)
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
		s.Status = status{statusError, cmp.Or(string(r.Refusal), fmt.Sprint(r.Verdict))}
	}
	return s
}
