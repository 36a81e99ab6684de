package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
)

// reporting is a gateway that takes reports as it does in production.
func reporting(t *testing.T) (*setup, *seen) {
	records := &seen{}
	var s *setup
	s = start(t, knobs{config: func(c *Config) {
		lanes := c.Lanes
		c.Direct = func(ctx context.Context, d gemini.DirectCall) error {
			return gemini.Direct(ctx, s.lim, lanes, records, d, time.Now())
		}
	}})
	return s, records
}

// TestObserve: what was called directly is charged and recorded, one by one or
// in a list.
func TestObserve(t *testing.T) {
	t.Parallel()
	s, records := reporting(t)
	key := s.key("interactive", "")
	one := `{"model":"models/` + flash + `","feature":"search","class":"bulk","input_tokens":100,"output_tokens":20,"status":200,"latency_ms":1500.5,"first_token_ms":300,"trace_id":"trace-0001"}`
	got := s.send(http.MethodPost, "/v1/observe", one, "x-goog-api-key", key)
	if got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"recorded":1}` {
		t.Fatalf("%d %s", got.status, got.body)
	}
	r := records.last(t)
	if r.Feature != "search" || r.Class != "bulk" || r.TookMS != 1500 || r.FirstMS != 300 || r.Used[limiter.InputTokens] != 100 || r.TraceID != "trace-0001" ||
		r.Decision != gemini.ReportedDirect || r.Path.Key == "" || r.Status != 200 {
		t.Errorf("%+v", r)
	}
	list := `[` + one + `,{"model":"` + flash + `","status":429,"latency_ms":90,"error":{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"x"}}}]`
	got = s.send(http.MethodPost, "/v1/observe", list, "x-goog-api-key", key, "x-nightshift-feature", "chat")
	if got.status != http.StatusOK || strings.TrimSpace(got.body) != `{"recorded":2}` {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if r := records.last(t); r.Feature != "chat" || r.Class != "interactive" || r.Status != 429 || r.Verdict == "" {
		t.Errorf("%+v", r)
	}
	if used, open := s.used("rpm"), s.state().InFlight; used != 3 || open != 0 {
		t.Errorf("%d requests are charged, %d permits open", used, open)
	}
	if n := len(s.sim.Calls()); n != 0 {
		t.Errorf("%d calls went out for a report", n)
	}
}

// TestObserveKnowsAliases: a report may name a model as a call or a permit may.
func TestObserveKnowsAliases(t *testing.T) {
	t.Parallel()
	records := &seen{}
	var s *setup
	s = start(t, knobs{config: func(c *Config) {
		lanes := c.Lanes
		c.Routes, _ = gemini.NewRoutes(gemini.RoutesConfig{Lanes: lanes, Aliases: map[string]string{"fast": flash}})
		c.Direct = func(ctx context.Context, d gemini.DirectCall) error {
			return gemini.Direct(ctx, s.lim, lanes, records, d, time.Now())
		}
	}})
	got := s.send(http.MethodPost, "/v1/observe", `{"model":"Fast","feature":"f","status":200}`, "x-goog-api-key", s.key("interactive", ""))
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if r := records.last(t); !strings.HasSuffix(r.Lane, flash) {
		t.Errorf("counted in %s", r.Lane)
	}
}

// TestObserveRefuses what cannot be, names the call and the field, and counts
// none of the list.
func TestObserveRefuses(t *testing.T) {
	t.Parallel()
	s, _ := reporting(t)
	key := s.key("bulk", "")
	good := `{"model":"` + flash + `","feature":"f","status":200}`
	for field, wrong := range map[string]string{
		"call 1: model":                           `{"feature":"f"}`,
		"call 1: model: no limits":                `{"model":"unheard-of","feature":"f"}`,
		"call 1: feature":                         `{"model":"` + flash + `"}`,
		"call 1: feature: ":                       `{"model":"` + flash + `","feature":"A b"}`,
		"raise it to interactive":                 `{"model":"` + flash + `","feature":"f","class":"interactive"}`,
		"no such class":                           `{"model":"` + flash + `","feature":"f","class":"vip"}`,
		"call 1: input_tokens":                    `{"model":"` + flash + `","feature":"f","input_tokens":-1}`,
		"call 1: output_tokens":                   `{"model":"` + flash + `","feature":"f","output_tokens":2000000000}`,
		"call 1: status":                          `{"model":"` + flash + `","feature":"f","status":99}`,
		"call 1: latency_ms":                      `{"model":"` + flash + `","feature":"f","latency_ms":-5}`,
		"call 1: first_token_ms":                  `{"model":"` + flash + `","feature":"f","latency_ms":5,"first_token_ms":6}`,
		"call 1: trace_id":                        `{"model":"` + flash + `","feature":"f","trace_id":"a b"}`,
		"unknown field":                           `{"model":"` + flash + `","feature":"f","prompt":"secret"}`,
		"want a call":                             `{"model":`,
		"status: want a whole number, not string": `{"model":"` + flash + `","feature":"f","status":"ok"}`,
	} {
		got := s.send(http.MethodPost, "/v1/observe", "["+good+","+wrong+"]", "x-goog-api-key", key)
		if e := s.rpcError(got); got.status/100 != 4 || !strings.Contains(e.Message, field) {
			t.Errorf("%s: %d %s", field, got.status, e.Message)
		}
	}
	for text, body := range map[string]string{
		"1 to 1000":     "[]",
		"after array":   good + good,
		"nothing after": "[" + good + "] x",
		"in parts":      `[` + strings.Repeat(" ", 1_200_000) + `]`,
		"there are":     "[" + strings.Repeat(good+",", 1000) + good + "]",
	} {
		got := s.send(http.MethodPost, "/v1/observe", body, "x-goog-api-key", key)
		if e := s.rpcError(got); got.status/100 != 4 || !strings.Contains(e.Message, text) {
			t.Errorf("%s: %d %s", text, got.status, e.Message)
		}
	}
	s.refused(s.send(http.MethodGet, "/v1/observe", "", "x-goog-api-key", key), http.StatusMethodNotAllowed, "POST")
	s.refused(s.send(http.MethodPost, "/v1/observe", good), http.StatusForbidden, "key")
	s.untouched()
}

// TestObserveHalfWay: when counting fails in the middle, the answer says how far it came.
func TestObserveHalfWay(t *testing.T) {
	t.Parallel()
	n := 0
	s := start(t, knobs{config: func(c *Config) {
		c.Direct = func(context.Context, gemini.DirectCall) error {
			if n++; n > 1 {
				return fmt.Errorf("dial 10.0.0.1: refused")
			}
			return nil
		}
	}})
	one := `{"model":"` + flash + `","status":200}`
	got := s.send(http.MethodPost, "/v1/observe", "["+one+","+one+"]", "x-goog-api-key", s.chat())
	if e := s.rpcError(got); got.status != http.StatusServiceUnavailable || !strings.Contains(e.Message, "call 1") || !strings.Contains(e.Message, "the 1 before it are recorded") || strings.Contains(e.Message, "10.0.0.1") {
		t.Errorf("%d %s", got.status, got.body)
	}
	off := start(t, knobs{})
	off.refused(off.send(http.MethodPost, "/v1/observe", one, "x-goog-api-key", off.chat()), http.StatusNotFound, "no reports")
}
