package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

const pricedScope, unpriced = "proj", "gemini-4-argon"

// priced is a transport over the limiter's own rules, whose answers all have 50
// tokens in and none out: $0.0000375 of gemini-3.8-flash.
func priced(t *testing.T, nodes map[string]limiter.Limits) (*gemini.Transport, *limiter.Model) {
	t.Helper()
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	lanes, err := gemini.NewLaneMap(pricedScope, "", gemini.Model{Name: wholeModel}, gemini.Model{Name: unpriced})
	if err != nil {
		t.Fatal(err)
	}
	scope := limiter.Scope{Provider: "gemini", Project: pricedScope}
	model := limiter.NewModel(scope, at)
	conf := limiter.Config{Scope: scope, Nodes: nodes, Classes: []limiter.Class{{Name: "interactive"}, {Name: "bulk", Pausable: true}}}
	for _, lane := range lanes.Lanes() {
		conf.Lanes = append(conf.Lanes, limiter.LaneConfig{Lane: lane, Limits: limiter.Limits{RPD: 1_000_000}, Lend: "now"})
	}
	if err := model.Configure(t.Context(), conf); err != nil {
		t.Fatal(err)
	}
	tr, err := gemini.NewTransport(gemini.TransportConfig{
		Base: fifty{}, Gate: model, Lanes: lanes, APIKey: "the-key-of-the-project",
		Now: func() time.Time { return at }, RefuseUnpriced: map[string]bool{"bulk": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr, model
}

// fifty answers with 50 tokens in.
type fifty struct{}

func (fifty) RoundTrip(*http.Request) (*http.Response, error) {
	const body = `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":0,"totalTokenCount":50}}`
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}, nil
}

func askAs(ctx context.Context, tr *gemini.Transport, class, model string) (*gemini.Observation, error) {
	ctx, seen := gemini.Observe(gemini.WithCaller(ctx, gemini.Caller{Class: class, Feature: "f", Path: limiter.Path{Tenant: "acme"}}))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, gemini.DefaultBaseURL+"/v1beta/models/"+model+":generateContent",
		strings.NewReader(`{"contents":[{"parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":10}}`))
	if err != nil {
		return seen, err
	}
	_, err = tr.RoundTrip(req)
	return seen, err
}

// TestLedgerIsExact: what the limiter has counted after many calls of 37.5
// micro-dollars each is their exact sum, though it counts in whole ones.
func TestLedgerIsExact(t *testing.T) {
	tr, model := priced(t, map[string]limiter.Limits{"tenant/acme": {USDPerMonth: 50_000_000}})
	const calls = 2_000
	for i := range calls {
		if _, err := askAs(t.Context(), tr, "bulk", wholeModel); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	state, err := model.NodeState(t.Context(), "tenant/acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range state.Limits {
		if l.Name == "usd_per_month" && l.Used != calls*75/2 {
			t.Errorf("%d micro-dollars counted for %d calls of 37.5", l.Used, calls)
		}
	}
	if len(state.Limits) != 1 {
		t.Errorf("%+v", state)
	}
}

// TestUnpricedUnderTheLimitersOwnRules: a cap in money stops bulk of a model without
// a price, and of no other; people's calls pass, at the dearest price.
func TestUnpricedUnderTheLimitersOwnRules(t *testing.T) {
	tr, _ := priced(t, map[string]limiter.Limits{"tenant/acme": {USDPerDay: 50_000_000}})
	_, err := askAs(t.Context(), tr, "bulk", unpriced)
	var denied *limiter.Denied
	if !errors.As(err, &denied) || denied.Reason != limiter.ReasonNoPrice || denied.Permanent || denied.RetryAfter() != time.Minute {
		t.Errorf("bulk: %v", err)
	}
	seen, err := askAs(t.Context(), tr, "interactive", unpriced)
	if err != nil || seen.Price != gemini.PriceUnknown || seen.MicroUSD != 50*4 || seen.Priced {
		t.Errorf("interactive: %v %+v", err, seen)
	}
	if seen, err = askAs(t.Context(), tr, "bulk", wholeModel); err != nil || seen.Price != "" || seen.PicoUSD != 37_500_000 {
		t.Errorf("a model with a price: %v %+v", err, seen)
	}
	tr, _ = priced(t, nil)
	if seen, err = askAs(t.Context(), tr, "bulk", unpriced); err != nil || seen.Price != gemini.PriceUnknown {
		t.Errorf("without a limit: %v %+v", err, seen)
	}
}
