package gemini

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
)

// TestTransportConfigOf: what is enforced is all that a service needs to be told.
func TestTransportConfigOf(t *testing.T) {
	t.Parallel()
	lane := limiter.Lane{Provider: "gemini", Project: "p", Region: "eu", Model: "gemini-2.5-flash"}
	enforced := limiter.Config{Scope: lane.Scope(), Lanes: []limiter.LaneConfig{{Lane: lane}}, Classes: []limiter.Class{{Name: "agent", MaxWait: 5 * time.Second}}}
	cfg, err := TransportConfigOf(enforced)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := cfg.Lanes.Lookup("gemini-2.5-flash"); got != lane || err != nil || cfg.MaxWait["agent"] != 5*time.Second {
		t.Errorf("%v (%v), waits %v", got, err, cfg.MaxWait)
	}
	if _, err := TransportConfigOf(limiter.Config{}); err == nil || !strings.Contains(err.Error(), "no lane has limits yet") {
		t.Errorf("nothing configured: %v", err)
	}
	lane.Region, lane.Model = "us", "gemini-2.5-pro"
	enforced.Lanes = append(enforced.Lanes, limiter.LaneConfig{Lane: lane})
	if _, err := TransportConfigOf(enforced); err == nil || !strings.Contains(err.Error(), "regions eu and us") {
		t.Errorf("two regions: %v", err)
	}
}

// TestRefusalThroughTheSDK: a service reads the limiter's refusal off the SDK's
// error, of streams too, over a client of its own making.
func TestRefusalThroughTheSDK(t *testing.T) {
	t.Parallel()
	gate := &fakeGate{refuse: func(_ int, r limiter.Request) error {
		return &limiter.Denied{Type: "quota_denied", Class: r.Class, Path: r.Path, Reason: limiter.ReasonQuota, Limiter: "rpm", RetryAfterMS: 61_000}
	}}
	tr := newTestTransport(t, replies(200, "application/json", good), gate)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "k", HTTPClient: &http.Client{Transport: tr}, HTTPOptions: genai.HTTPOptions{BaseURL: DefaultBaseURL},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithCaller(t.Context(), Caller{Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme"}})
	_, unary := client.Models.GenerateContent(ctx, "gemini-2.5-flash", genai.Text("hi"), nil)
	var streamed error
	for _, err := range client.Models.GenerateContentStream(ctx, "gemini-2.5-flash", genai.Text("hi"), nil) {
		streamed = err
	}
	for name, err := range map[string]error{"unary": unary, "stream": streamed} {
		var d *limiter.Denied
		if !errors.As(err, &d) || d.Limiter != "rpm" || d.Feature != "chat" || d.Path.Tenant != "acme" || d.RetryAfter() != 61*time.Second {
			t.Errorf("%s: %v (%+v)", name, err, d)
		}
	}
	if len(gate.settled) > 0 {
		t.Errorf("settled %v", gate.settled)
	}
}
