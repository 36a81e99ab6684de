package tracing

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/worker"
)

// collector is an OTLP receiver in this process.
type collector struct {
	mu     sync.Mutex
	spans  []span
	bodies []string
	login  string
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var got collectorpb.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bodies, c.login = append(c.bodies, got.String()), r.Header.Get("Authorization")
	for _, rs := range got.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, told(s))
			}
		}
	}
}

// told is a span as the collector got it.
func told(s *tracepb.Span) span {
	out := span{Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), Name: s.Name,
		Kind: trace.SpanKind(s.Kind), Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano))}
	for _, a := range s.Attributes {
		out.Attrs.text(a.Key, a.Value.GetStringValue())
		out.Attrs.int(a.Key, a.Value.GetIntValue())
	}
	if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
		out.Failed = s.Status.GetMessage()
	}
	return out
}

// traced runs tell with a tracer, and gives what a collector got.
func traced(t *testing.T, ratio float64, tell func(*Tracer)) *collector {
	t.Helper()
	c := &collector{}
	srv := httptest.NewServer(c)
	defer srv.Close()
	tr, err := New(Config{URL: strings.Replace(srv.URL, "://", "://me:pw@", 1) + "/v1/traces", Service: "nightshift-worker", Project: "p", Ratio: ratio})
	if err != nil {
		t.Fatal(err)
	}
	tell(tr)
	tr.Close()
	return c
}

var (
	begin = time.Unix(1_800_000_000, 0)
	task  = jobs.Task{Run: "r1", Index: 7}
	spec  = jobs.Spec{Class: "bulk", Feature: "f", Model: "m"}
)

// TestOneTraceARow: what the process that enqueues, the worker and its transport tell
// of a row is one trace under one span, though nothing went from one to the other.
func TestOneTraceARow(t *testing.T) {
	t.Parallel()
	var waits jobs.Waits
	waits[jobs.WaitQuota] = 3 * time.Second
	got := traced(t, 1, func(tr *Tracer) {
		tr.Enqueued(jobs.Run{ID: "r1", Spec: spec}, 8, begin, begin.Add(time.Second))
	})
	rest := traced(t, 1, func(tr *Tracer) { // another process
		tr.Put(gemini.Record{Time: begin.Add(4 * time.Second), TraceID: tr.ID(task), Run: "r1", Row: "g", Attempt: 1, Class: "bulk", Lane: "gemini/p/global/m",
			Permit: "x", WaitMS: 10, TookMS: 500, Sent: true, Status: 200, Usage: &gemini.Usage{Prompt: 5}})
		tr.Looked(worker.Look{Task: task, Row: "g", Spec: spec, Attempt: 1, Enqueued: begin, Began: begin.Add(4 * time.Second),
			Settling: begin.Add(5 * time.Second), Ended: begin.Add(6 * time.Second), State: jobs.Done, Waits: waits})
	})
	if len(got.spans) != 8 || rest.login != "Basic bWU6cHc=" {
		t.Fatalf("%d rows were enqueued, login %q", len(got.spans), rest.login)
	}
	all := append(rest.spans, got.spans[7])
	var names []string
	root := rootOf(all[0].Trace)
	for _, s := range all {
		names = append(names, s.Name)
		if s.Trace != all[0].Trace || len(s.Trace) != 32 || len(s.ID) != 16 {
			t.Errorf("%s is of trace %s, id %s", s.Name, s.Trace, s.ID)
		}
		if s.Name == "row" && (s.ID != root || s.Parent != "") || s.Name != "row" && s.Parent != root {
			t.Errorf("%s is %s in %s; the row's is %s", s.Name, s.ID, s.Parent, root)
		}
	}
	slices.Sort(names)
	if want := "call enqueue look permit row settle wait"; strings.Join(names, " ") != want {
		t.Errorf("spans %v, want %s", names, want)
	}
	for _, s := range all {
		if s.Name == "wait" && !slices.Contains(s.Attrs, attribute.Int64("nightshift.wait.quota_ms", 3000)) {
			t.Errorf("the wait's cause is not told: %v", s.Attrs)
		}
		if s.Name == "row" && (!s.Start.Equal(begin) || !s.End.Equal(begin.Add(6*time.Second))) {
			t.Errorf("the row took from %s to %s", s.Start, s.End)
		}
	}
}

// TestTraceOfACaller: the gateway's span is in the caller's trace under the caller's
// span, and follows the caller's choice to trace.
func TestTraceOfACaller(t *testing.T) {
	t.Parallel()
	const in = "4bf92f3577b34da6a3ce929d0e0e4736"
	got := traced(t, 1, func(tr *Tracer) {
		r := gemini.Record{Time: begin, TraceID: in, Parent: "00f067aa0ba902b7-01", Class: "interactive", Refusal: limiter.ReasonQuota, Error: "secret words", WaitMS: 5}
		tr.Put(r)
		r.Parent = "00f067aa0ba902b7-00"
		tr.Put(r)
		r.TraceID = "my-own-id-1"
		tr.Put(r)
	})
	if len(got.spans) != 2 || got.spans[0].Parent != "00f067aa0ba902b7" || got.spans[0].Kind != trace.SpanKindServer || got.spans[1].Parent != got.spans[0].ID || got.spans[1].Failed != "quota" {
		t.Errorf("told %+v", got.spans)
	}
	if strings.Contains(strings.Join(got.bodies, ""), "secret") {
		t.Error("an error's text is in a span")
	}
}

// TestSampling: a part of all rows is traced, the same in every process.
func TestSampling(t *testing.T) {
	t.Parallel()
	got := traced(t, 0.25, func(tr *Tracer) { tr.Enqueued(jobs.Run{ID: "r1"}, 1000, begin, begin) })
	if n := len(got.spans); n < 180 || n > 320 {
		t.Errorf("%d of 1000 rows are traced", n)
	}
}

// TestManyRows: the spans of a run with more rows than the queue takes all come.
func TestManyRows(t *testing.T) {
	t.Parallel()
	const n = mostQueued + mostQueued/2
	got := traced(t, 1, func(tr *Tracer) { tr.Enqueued(jobs.Run{ID: "r1"}, n, begin, begin) })
	if len(got.spans) != n {
		t.Errorf("%d of %d rows are told", len(got.spans), n)
	}
}

// TestCollectorAway: spans are lost, and nothing waits for them.
func TestCollectorAway(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	tr, err := New(Config{URL: "http://me:hunter3@127.0.0.1:1/v1/traces", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range mostQueued * 2 {
		tr.Looked(worker.Look{Task: task, State: jobs.Waiting})
	}
	tr.Enqueued(jobs.Run{ID: "r1"}, 10*mostQueued, begin, begin)
	tr.Close()
	if text := log.String(); !strings.Contains(text, "later rows have no span") || strings.Contains(text, "hunter3") {
		t.Errorf("the log says\n%s", text)
	}
}
