package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"nightshift/jobs"
	"nightshift/limiter"
	"nightshift/limiter/gateway"
)

// toldSpan is a span with the process that told it.
type toldSpan struct {
	*tracepb.Span
	service string
}

func (s toldSpan) attr(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return cmp.Or(a.Value.GetStringValue(), a.Value.String())
		}
	}
	return ""
}

// collector is an OpenTelemetry collector in this process.
type collector struct {
	mu    sync.Mutex
	spans []toldSpan // guarded by mu
	texts []string   // all that came; guarded by mu
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var got collectorpb.ExportTraceServiceRequest
	if proto.Unmarshal(body, &got) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, got.String())
	for _, rs := range got.ResourceSpans {
		service := ""
		for _, a := range rs.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, toldSpan{s, service})
			}
		}
	}
}

// named gives the spans of a name, by their start.
func (c *collector) named(names ...string) (out []toldSpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if slices.Contains(names, s.Name) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b toldSpan) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return out
}

// TestTraceFromEnqueueToSettle: what three processes tell of a row is one trace in its
// order, a caller's trace goes through the gateway, no words and no key are in either, and
// with the collector gone all works as before.
func TestTraceFromEnqueueToSettle(t *testing.T) {
	c := &collector{}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	n := newNight(t, 600, "")
	n.startWorkers(1)
	run := n.enqueue("rows", 1, jobs.Normal, func(int) string { return "one secret lamp" })
	n.await("the row's trace has come", time.Minute, func() bool {
		return len(c.named("row")) == 1 && len(c.named("call")) == 1 && len(c.named("enqueue")) == 1
	})

	row := c.named("row")[0]
	steps := c.named("enqueue", "wait", "permit", "call", "settle")
	slices.SortStableFunc(steps, func(a, b toldSpan) int { return cmp.Compare(a.EndTimeUnixNano, b.EndTimeUnixNano) })
	at := map[string]int{}
	for i, s := range steps {
		at[s.Name] = i
		if string(s.TraceId) != string(row.TraceId) || string(s.ParentSpanId) != string(row.SpanId) {
			t.Errorf("%s is not under its row", s.Name)
		}
	}
	if len(steps) != 5 || at["wait"] > at["permit"] || at["permit"] > at["call"] || at["call"] > at["settle"] || at["enqueue"] > at["settle"] {
		t.Errorf("the steps ended in the order %v", at)
	}
	for i, service := range map[string]string{"enqueue": "nightshift-enqueue", "call": "nightshift-worker"} {
		if s := steps[at[i]]; s.service != service {
			t.Errorf("%s is told by %s", i, s.service)
		}
	}
	call := steps[at["call"]]
	for key, want := range map[string]string{"nightshift.lane": "gemini/default/global/" + benchModel, "nightshift.class": "bulk", "nightshift.run": run} {
		if got := call.attr(key); got != want {
			t.Errorf("the call's %s is %q, want %q", key, got, want)
		}
	}
	if call.attr("nightshift.micro_usd") == "" || call.attr("gen_ai.usage.input_tokens") == "" || row.attr("nightshift.state") != "done" {
		t.Errorf("the call has no cost or use, or the row no end: %v, %v", call.Attributes, row.Attributes)
	}

	n.simulate("faults", map[string]any{"faults": []string{"503~chat-"}, "replace": true})
	secret, _, err := gateway.NewKeys(n.rdb, nil).Add(context.Background(), gateway.Identity{Name: "chat", Project: n.scope.Project, Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme"}})
	n.must(err)
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	ask := func() int {
		req, err := http.NewRequest(http.MethodPost, n.gateway+"/v1beta/models/"+benchModel+":generateContent", strings.NewReader(`{"contents":[{"parts":[{"text":"id: chat-1 secret words"}]}]}`))
		n.must(err)
		req.Header.Set("x-goog-api-key", secret)
		req.Header.Set("traceparent", "00-"+trace+"-"+span+"-01")
		resp, err := http.DefaultClient.Do(req)
		n.must(err)
		n.must(resp.Body.Close())
		return resp.StatusCode
	}
	status := ask()
	var chat toldSpan
	n.await("the caller's trace has come", time.Minute, func() bool {
		i := slices.IndexFunc(c.named("call"), func(s toldSpan) bool { return hex.EncodeToString(s.TraceId) == trace })
		if i >= 0 {
			chat = c.named("call")[i]
		}
		return i >= 0
	})
	if chat.service != "nightshift-gateway" || chat.attr("nightshift.tenant") != "acme" || chat.attr("nightshift.verdict") == "" || chat.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("the refused call is told as %v by %s", chat.Attributes, chat.service)
	}
	own := c.named("nightshift generateContent")
	if len(own) != 1 || hex.EncodeToString(own[0].ParentSpanId) != span || string(chat.ParentSpanId) != string(own[0].SpanId) {
		t.Errorf("the gateway's span is %v", own)
	}
	c.mu.Lock()
	for _, text := range c.texts {
		for _, secret := range []string{"secret", "lamp", secret, "not-a-real-key"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in a span:\n%s", secret, text)
			}
		}
	}
	c.mu.Unlock()

	srv.Close()
	if again := ask(); again != status {
		t.Errorf("with the collector gone the gateway answers %d, before %d", again, status)
	}
	later := n.enqueue("later", 20, jobs.Normal, func(int) string { return "lamps" })
	n.await("rows run with the collector gone", time.Minute, func() bool { return n.counts(later)[jobs.Done] == 20 })
}
