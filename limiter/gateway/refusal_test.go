package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// TestRefusals: each reason has the status that tells a client what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for reason, want := range map[limiter.Reason]struct {
		code   int
		status string
	}{
		limiter.ReasonQuota: {429, "RESOURCE_EXHAUSTED"}, limiter.ReasonShare: {429, "RESOURCE_EXHAUSTED"},
		limiter.ReasonSmoothing: {429, "RESOURCE_EXHAUSTED"}, limiter.ReasonTurn: {429, "RESOURCE_EXHAUSTED"},
		limiter.ReasonPaused: {429, "RESOURCE_EXHAUSTED"}, limiter.ReasonCooldown: {429, "RESOURCE_EXHAUSTED"},
		limiter.ReasonSpend: {429, "RESOURCE_EXHAUSTED"}, limiter.ReasonSlots: {429, "RESOURCE_EXHAUSTED"},
		limiter.ReasonUnavailable: {503, "UNAVAILABLE"}, limiter.ReasonCredentials: {503, "UNAVAILABLE"},
		limiter.ReasonBreaker: {503, "UNAVAILABLE"}, limiter.ReasonUnknownLane: {503, "UNAVAILABLE"},
		limiter.ReasonDeadline: {504, "DEADLINE_EXCEEDED"},
	} {
		e := refusalOf(&limiter.Denied{Reason: reason, RetryAfterMS: 1500, Model: "m"})
		w := httptest.NewRecorder()
		e.write(w)
		if w.Code != want.code || e.Status != want.status || w.Header().Get("Retry-After") != "2" || !strings.Contains(w.Body.String(), `"retryDelay": "1.5s"`) {
			t.Errorf("%s: %d %v %s", reason, w.Code, w.Header(), w.Body)
		}
	}
	for reason, code := range map[limiter.Reason]int{limiter.ReasonTooLarge: 400, limiter.ReasonUnknownLane: 404} {
		e := refusalOf(&limiter.Denied{Reason: reason, Permanent: true, Model: "m"})
		w := httptest.NewRecorder()
		e.write(w)
		if w.Code != code || w.Header().Get("Retry-After") != "" || strings.Contains(w.Body.String(), "RetryInfo") {
			t.Errorf("%s: %d %v %s", reason, w.Code, w.Header(), w.Body)
		}
	}
}

// TestWhatClientsDoNotSee: errors of the way out are told apart, and their
// texts, which may name hosts, stay here.
func TestWhatClientsDoNotSee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{errors.New("dial tcp 10.1.2.3:443: refused"), http.StatusBadGateway},
		{context.DeadlineExceeded, http.StatusGatewayTimeout},
		{context.Canceled, statusClientGone},
		{errCallTime, http.StatusGatewayTimeout},
		{&gemini.RefusedError{Status: 415, Why: "no"}, 415},
	} {
		if e := refusalOf(c.err); e.Code != c.code || strings.Contains(e.Message, "10.1.2.3") {
			t.Errorf("%v: %d %s", c.err, e.Code, e.Message)
		}
	}
	e := refusalOf(&limiter.Denied{Reason: limiter.ReasonUnavailable, RetryAfterMS: 1000})
	if strings.Contains(e.Message, "%!") || !strings.Contains(e.Message, "Redis") {
		t.Error(e.Message)
	}
}

// TestMetadataHasEveryField: what a refusal says, its ErrorInfo says too, as
// flat strings under names that google.rpc.ErrorInfo allows.
func TestMetadataHasEveryField(t *testing.T) {
	t.Parallel()
	d := &limiter.Denied{
		Type: "quota_denied", Limiter: "input_tpm", Node: "lane", Provider: "gemini", Project: "p", Model: "m", Class: "interactive", Feature: "f",
		Path: limiter.Path{Tenant: "acme", Key: "k_1"}, Reason: limiter.ReasonQuota, Decision: limiter.RejectedLocally, Limit: 3e14, Used: 2, Shortage: 1,
		RetryAt: time.Date(2026, 11, 30, 7, 42, 0, 0, time.UTC), RetryAfterMS: 1500, Ticket: "t", Position: 4, Permanent: true, FallbackAllowed: true, TraceID: "x", Detail: "y",
		Holders: []limiter.Holder{{Class: "bulk", Used: 180}, {Class: "agent", Used: 7}},
	}
	d.Estimates[limiter.InputTokens] = 12
	got := metadataOf(d)
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "path")
	delete(fields, "estimates")
	delete(fields, "holders")
	for name := range fields {
		if got[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if got["limit"] != "300000000000000" || got["path_tenant"] != "acme" || got["path_key"] != "k_1" || got["estimates_input_tokens"] != "12" || got["retry_at"] != "2026-11-30T07:42:00Z" || got["holders_bulk"] != "180" || got["holders_agent"] != "7" {
		t.Errorf("%v", got)
	}
}

// TestTroubleIsSaidOnceAMinute: many refusals, one line.
func TestTroubleIsSaidOnceAMinute(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{limits: limiter.Limits{RPM: 1, InputTPM: 1_000_000}})
	key := s.chat()
	for range 5 {
		s.send(http.MethodPost, generate, question, "x-goog-api-key", key)
	}
	if n := strings.Count(s.log.String(), "calls are refused"); n != 1 {
		t.Errorf("%d lines: %s", n, s.log)
	}
}

// TestProviderAway is a 502 in Gemini's shape, and what was never sent is not charged.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	s := start(t, knobs{base: sender(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })})
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat())
	if e := s.rpcError(got); got.status != http.StatusBadGateway || e.Status != "UNAVAILABLE" || got.header.Get("X-Nightshift-Decision") != "admitted" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if n := s.state().InFlight; n != 0 {
		t.Errorf("%d permits are open", n)
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	t.Parallel()
	lanes, err := gemini.NewLaneMap("proj", "", gemini.Model{Name: flash})
	if err != nil {
		t.Fatal(err)
	}
	none, err := gemini.NewLaneMap("proj", "")
	if err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*Config){
		"Transport":   func(c *Config) { c.Transport = nil },
		"Keys":        func(c *Config) { c.Keys = nil },
		"Classes":     func(c *Config) { c.Classes = nil },
		"Lanes":       func(c *Config) { c.Lanes = none },
		"BaseURL":     func(c *Config) { c.BaseURL = "nowhere?key=" + theirKey },
		"PathPrefix":  func(c *Config) { c.PathPrefix = "/gw/" },
		"PathPrefix:": func(c *Config) { c.PathPrefix = "gw" },
	} {
		c := Config{Transport: http.DefaultTransport, Keys: known{}, Classes: []string{"bulk"}, Lanes: lanes}
		change(&c)
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), field) || strings.Contains(err.Error(), theirKey) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	ready := errors.New("Redis at 127.0.0.1:6379: connection refused")
	s := start(t, knobs{config: func(c *Config) {
		c.PathPrefix = "/gw"
		c.Ready = func(context.Context) error { return ready }
	}})
	for _, prefix := range []string{"", "/gw"} {
		if got := s.send(http.MethodGet, prefix+"/healthz", ""); got.status != http.StatusOK {
			t.Errorf("health: %d %s", got.status, got.body)
		}
		if got := s.send(http.MethodGet, prefix+"/readyz", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "connection refused") {
			t.Errorf("not ready: %d %s", got.status, got.body)
		}
	}
	ready = nil
	if got := s.send(http.MethodGet, "/readyz", ""); got.status != http.StatusOK || !strings.Contains(got.body, `"lanes":2`) {
		t.Errorf("ready: %d %s", got.status, got.body)
	}
}

// TestListen is on loopback unless an address is named.
func TestListen(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{":0": "127.0.0.1:", "127.0.0.1:0": "127.0.0.1:", "[::1]:0": "[::1]:", "0.0.0.0:0": "[::]:"} {
		l, err := Listen(addr)
		if err != nil {
			if addr == "[::1]:0" {
				continue // no IPv6 here
			}
			t.Fatal(err)
		}
		if got := l.Addr().String(); !strings.HasPrefix(got, want) && !strings.HasPrefix(got, "0.0.0.0:") {
			t.Errorf("%s: listens on %s", addr, got)
		}
		_ = l.Close()
	}
	for _, bad := range []string{"8787", "nowhere:x"} {
		if l, err := Listen(bad); err == nil {
			_ = l.Close()
			t.Errorf("%s was listened on", bad)
		}
	}
}
