package gemini

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"nightshift/limiter"
)

// counted makes calls through a transport with metrics.
func counted(t *testing.T, base http.RoundTripper, gate *fakeGate, change ...func(*TransportConfig)) (*Transport, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	change = append(change, func(c *TransportConfig) { c.Metrics = NewMetrics(reg) })
	return newTestTransport(t, base, gate, change...), reg
}

// wantMetrics compares the named metrics whole.
func wantMetrics(t *testing.T, reg *prometheus.Registry, want string, names ...string) {
	t.Helper()
	for i, n := range names {
		names[i] = "nightshift_gemini_" + n
	}
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// TestMetricsOfAGoodCall: a call is one granted and one settled permit, its tokens
// are charged by the estimate and brought to what it took.
func TestMetricsOfAGoodCall(t *testing.T) {
	long := strings.Replace(good, `"promptTokenCount":8`, `"promptTokenCount":18`, 1)
	tr, reg := counted(t, replies(200, "application/json", long), &fakeGate{})
	ctx, obs := callCtx(t.Context())
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
		t.Fatal(err)
	}
	estimate := obs.Estimate
	if estimate[limiter.InputTokens] >= 18 || estimate[limiter.OutputTokens] <= 930 {
		t.Fatalf("the estimate %v should be raised in one and refunded in the other", estimate)
	}
	wantMetrics(t, reg, fmt.Sprintf(`
# HELP nightshift_gemini_answers_total Calls that went out, by the provider's HTTP status; none: no answer came.
# TYPE nightshift_gemini_answers_total counter
nightshift_gemini_answers_total{model="gemini-2.5-flash",status="200"} 1
# HELP nightshift_gemini_calls_total Calls by what was decided about them.
# TYPE nightshift_gemini_calls_total counter
nightshift_gemini_calls_total{class="bulk",decision="admitted",model="gemini-2.5-flash"} 1
# HELP nightshift_gemini_cost_micro_usd_total What calls cost by the price book, in millionths of a US dollar.
# TYPE nightshift_gemini_cost_micro_usd_total counter
nightshift_gemini_cost_micro_usd_total{class="bulk",model="gemini-2.5-flash"} %d
# HELP nightshift_gemini_permits_granted_total Permits given.
# TYPE nightshift_gemini_permits_granted_total counter
nightshift_gemini_permits_granted_total{class="bulk",model="gemini-2.5-flash"} 1
# HELP nightshift_gemini_permits_settled_total Permits that ended with a call.
# TYPE nightshift_gemini_permits_settled_total counter
nightshift_gemini_permits_settled_total{class="bulk",model="gemini-2.5-flash"} 1
# HELP nightshift_gemini_tokens_charged_total Tokens charged, by estimate and where a call took more.
# TYPE nightshift_gemini_tokens_charged_total counter
nightshift_gemini_tokens_charged_total{class="bulk",kind="input",model="gemini-2.5-flash"} 18
nightshift_gemini_tokens_charged_total{class="bulk",kind="output",model="gemini-2.5-flash"} %d
# HELP nightshift_gemini_tokens_refunded_total Tokens given back of what was charged.
# TYPE nightshift_gemini_tokens_refunded_total counter
nightshift_gemini_tokens_refunded_total{class="bulk",kind="output",model="gemini-2.5-flash"} %d
`, obs.MicroUSD, estimate[limiter.OutputTokens], estimate[limiter.OutputTokens]-930),
		"answers_total", "calls_total", "cost_micro_usd_total", "permits_granted_total", "permits_settled_total", "permits_released_total",
		"tokens_charged_total", "tokens_refunded_total", "refusals_total", "degraded_total")
}

// TestMetricsOfRefusals: a refusal of the limiter has a reason and no permit; one of
// the provider's has its status; a degraded one says how and why.
func TestMetricsOfRefusals(t *testing.T) {
	gate := &fakeGate{refuse: func(n int, r limiter.Request) error {
		if n > 1 {
			return nil
		}
		return &limiter.Denied{Type: "quota_denied", Model: r.Lane.Model, Class: r.Class, Reason: limiter.ReasonQuota, Limiter: "rpm",
			Decision: limiter.RejectedLocally, RetryAfterMS: 1000, RetryAt: time.Now().Add(time.Second)}
	}}
	canned := DegradeFunc(func(_ context.Context, r DegradeRequest) (DegradedAnswer, bool, error) {
		return DegradedAnswer{Kind: DegradedLight, Text: "later"}, r.Cause == CauseQuota, nil
	})
	tr, reg := counted(t, replies(429, "application/json", `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}}`), gate,
		func(c *TransportConfig) { c.Degrade = canned })
	for range 2 {
		ctx, _ := callCtx(t.Context())
		if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
			t.Fatal(err)
		}
	}
	wantMetrics(t, reg, `
# HELP nightshift_gemini_answers_total Calls that went out, by the provider's HTTP status; none: no answer came.
# TYPE nightshift_gemini_answers_total counter
nightshift_gemini_answers_total{model="gemini-2.5-flash",status="429"} 1
# HELP nightshift_gemini_calls_total Calls by what was decided about them.
# TYPE nightshift_gemini_calls_total counter
nightshift_gemini_calls_total{class="bulk",decision="admitted_then_provider_rejected",model="gemini-2.5-flash"} 1
nightshift_gemini_calls_total{class="bulk",decision="degraded",model="gemini-2.5-flash"} 1
# HELP nightshift_gemini_degraded_total Calls answered otherwise than by their model, by what with and why.
# TYPE nightshift_gemini_degraded_total counter
nightshift_gemini_degraded_total{class="bulk",kind="light",reason="quota"} 1
# HELP nightshift_gemini_permits_granted_total Permits given.
# TYPE nightshift_gemini_permits_granted_total counter
nightshift_gemini_permits_granted_total{class="bulk",model="gemini-2.5-flash"} 1
# HELP nightshift_gemini_refusals_total Calls that the limiter refused, by its rule.
# TYPE nightshift_gemini_refusals_total counter
nightshift_gemini_refusals_total{class="bulk",model="gemini-2.5-flash",reason="quota"} 1
`, "answers_total", "calls_total", "degraded_total", "permits_granted_total", "permits_released_total", "refusals_total")
	if n, err := testutil.GatherAndCount(reg, "nightshift_gemini_latency_seconds"); n != 0 || err != nil {
		t.Errorf("%d latencies of calls that had no good answer (%v)", n, err)
	}
}

// TestMetricsOfAReleasedPermit: a permit that ends without a call gives all back.
func TestMetricsOfAReleasedPermit(t *testing.T) {
	m := NewMetrics(nil)
	p := &limiter.Permit{Class: "bulk", Lane: limiter.Lane{Model: "m"}, Amounts: limiter.Amounts{limiter.InputTokens: 5, limiter.OutputTokens: 7}}
	m.grant(p)
	m.raise(p, limiter.Amounts{limiter.InputTokens: 5, limiter.OutputTokens: 9})
	p.Amounts[limiter.OutputTokens] = 9
	m.settle(p, limiter.Released, limiter.Amounts{limiter.InputTokens: 100})
	for kind, want := range map[string]float64{"input": 5, "output": 9} {
		charged := testutil.ToFloat64(m.charged.WithLabelValues("bulk", "other", kind))
		if back := testutil.ToFloat64(m.refunded.WithLabelValues("bulk", "other", kind)); charged != want || back != want {
			t.Errorf("%s: %v charged, %v refunded, want %v of both", kind, charged, back, want)
		}
	}
	if n := testutil.ToFloat64(m.released.WithLabelValues("bulk", "other")); n != 1 || testutil.CollectAndCount(m.settled) != 0 {
		t.Errorf("%v released, %d settled", n, testutil.CollectAndCount(m.settled))
	}
}

// TestMetricsStayFlat: ten thousand models, classes, reasons and paths of a
// scanner's make no series beside "other"; case 166.
func TestMetricsStayFlat(t *testing.T) {
	tr, reg := counted(t, replies(200, "application/json", good), &fakeGate{}, func(c *TransportConfig) { c.Observe = true })
	call := func(n int) {
		name := fmt.Sprintf("gemini-9-%d", n)
		tr.cfg.Metrics.Put(Record{Lane: "gemini/p/global/" + name, Class: name + "\xff", Decision: limiter.Decision(name), Refusal: limiter.Reason(name),
			Status: n, Sent: true, Degraded: &Degradation{Kind: DegradeKind(name), Reason: DegradeCause(name)}})
		if n%10 > 0 { // a whole call takes its time under the race detector
			return
		}
		ctx := WithCaller(t.Context(), Caller{Class: "class-" + name, Feature: "feature-" + name, Run: "run-" + name, Path: limiter.Path{Tenant: name}})
		for _, path := range []string{"/v1beta/models/" + name + ":generateContent", "/v1beta/models/" + name + ":scan", "/" + name} {
			resp, err := tr.RoundTrip(post(ctx, path, question))
			if err == nil {
				_ = resp.Body.Close()
			}
		}
	}
	for n := range 1000 {
		call(n)
	}
	before, err := testutil.GatherAndCount(reg)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1000; n < 10_000; n++ {
		call(n)
	}
	after, err := testutil.GatherAndCount(reg)
	if err != nil || after != before || before > 400 {
		t.Errorf("%d series after a thousand names, %d after ten thousand (%v)", before, after, err)
	}
}

// TestMetricsLint: names, units and helps are as Prometheus wants them.
func TestMetricsLint(t *testing.T) {
	tr, reg := counted(t, replies(200, "application/json", good), &fakeGate{})
	ctx, _ := callCtx(t.Context())
	if _, err := tr.RoundTrip(post(ctx, generate, question)); err != nil {
		t.Fatal(err)
	}
	tr.cfg.Metrics.Put(Record{Lane: "gemini/p/global/gemini-2.5-flash", Class: "bulk", Refusal: limiter.ReasonQuota, Sent: true, Status: 200, Method: "generateContent",
		FirstMS: 1, Degraded: &Degradation{Kind: DegradedLight, Reason: CauseQuota}})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v (%v)", problems, err)
	}
	if n, err := testutil.GatherAndCount(reg); n < 11 || err != nil {
		t.Errorf("only %d series were looked at (%v)", n, err)
	}
}
