package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter"
	"nightshift/limiter/gemini"
	"nightshift/limiter/gemini/geminitest"
)

const lite = "gemini-2.5-flash-lite"

// degrading is a gateway whose chat is answered by rules when there is no answer.
func degrading(t *testing.T, k knobs, rules ...gemini.FallbackRule) *setup {
	t.Helper()
	k.models = append(k.models, gemini.Model{Name: lite})
	k.transport = func(c *gemini.TransportConfig) {
		f, err := gemini.NewFallbacks(gemini.FallbacksConfig{
			Rules: rules, Lanes: c.Lanes, Models: []gemini.ModelPair{{From: flash, To: lite, Residency: true, Tools: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Degrade = f
	}
	return start(t, k)
}

func chatRule(kinds ...gemini.DegradeKind) gemini.FallbackRule {
	return gemini.FallbackRule{Class: "interactive", Feature: "chat", Try: kinds, Canned: []byte("We are busy.")}
}

// TestSDKGetsAnotherAnswer: whatever refuses, the SDK gets a good answer that says
// what it is, unary and as a stream; who has no rule gets the refusal.
func TestSDKGetsAnotherAnswer(t *testing.T) {
	t.Parallel()
	hour := time.Now().Add(time.Hour)
	for reason, shut := range map[string]func(*setup) error{
		"quota": func(s *setup) error {
			_, err := s.lim.Acquire(s.Context(), limiter.Request{ID: "all", Lane: s.lane, Class: "interactive", Feature: "x", Amounts: limiter.Amounts{limiter.Requests: 10}})
			return err
		},
		"paused": func(s *setup) error {
			return s.lim.Pause(s.Context(), limiter.Pause{Class: "interactive", Reason: "operator", Owner: "ann", Until: hour})
		},
		"spend": func(s *setup) error {
			return s.lim.Cool(s.Context(), s.lane, time.Hour, limiter.ReasonSpend, "the month's money is spent")
		},
		"breaker": func(s *setup) error {
			return s.lim.Cool(s.Context(), s.lane, time.Hour, limiter.ReasonBreaker, "nothing comes through")
		},
	} {
		s := degrading(t, knobs{limits: limiter.Limits{RPM: 10}}, chatRule(gemini.DegradedCanned))
		s.must(shut(s))
		c, ctx := s.client(s.chat()), s.Context()
		got, err := c.Models.GenerateContent(ctx, flash, genai.Text("hello"), nil)
		s.must(err)
		head := got.SDKHTTPResponse.Headers
		if got.Text() != "We are busy." || got.Candidates[0].FinishReason != genai.FinishReasonStop || got.UsageMetadata.TotalTokenCount != 0 {
			t.Errorf("%s: %+v", reason, got)
		}
		if head.Get("X-Nightshift-Degraded") != "canned; reason="+reason || head.Get("X-Nightshift-Decision") != "degraded" || head.Get("X-Nightshift-Usage") != "" {
			t.Errorf("%s: headers %v", reason, head)
		}
		text := ""
		for part, err := range c.Models.GenerateContentStream(ctx, flash, genai.Text("hello"), nil) {
			s.must(err)
			text += part.Text()
		}
		if text != "We are busy." {
			t.Errorf("%s: the stream says %q", reason, text)
		}
		_, err = s.client(s.key("interactive", "checkout")).Models.GenerateContent(ctx, flash, genai.Text("hello"), nil)
		var e genai.APIError
		if !errors.As(err, &e) || e.Code < 400 {
			t.Errorf("%s without a rule: %v", reason, err)
		}
		if n := len(s.sim.Calls()); n != 0 {
			t.Errorf("%s: %d calls went out", reason, n)
		}
	}
}

// TestLighterModelHasItsOwnPermit: the lighter model's call is charged to its own
// lane, and its tokens are what the answer's headers say.
func TestLighterModelHasItsOwnPermit(t *testing.T) {
	t.Parallel()
	s := degrading(t, knobs{sim: geminitest.Config{Models: []geminitest.Model{{Name: flash}, {Name: lite}}, Keys: []string{providerKey}}}, chatRule(gemini.DegradedModel, gemini.DegradedCanned))
	s.must(s.lim.Cool(s.Context(), s.lane, time.Hour, limiter.ReasonSpend, "no money"))
	key := s.chat()
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", key)
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("X-Nightshift-Degraded"), "model; reason=spend; model="+lite) || got.header.Get("X-Nightshift-Usage") == "" {
		t.Fatalf("%d %v %s", got.status, got.header, got.body)
	}
	streamed := s.send(http.MethodPost, stream, question, "x-goog-api-key", key)
	if streamed.status != http.StatusOK || !strings.Contains(streamed.body, "data: {") || streamed.header.Get("X-Nightshift-Degraded") == "" {
		t.Fatalf("%d %v %s", streamed.status, streamed.header, streamed.body)
	}
	if calls := s.sim.Calls(); len(calls) != 2 || calls[0].Model != lite || calls[1].Model != lite {
		t.Errorf("calls %+v", calls)
	}
	if n := s.used("rpm"); n != 0 {
		t.Errorf("%d requests are charged to %s", n, flash)
	}
	s.lane.Model = lite
	if n := s.used("rpm"); n != 2 {
		t.Errorf("%d requests are charged to %s, want 2", n, lite)
	}
	s.eventually("nothing is held", func() bool { return s.state().InFlight == 0 })
}

// TestProviderRefusesAndChatIsAnswered: what the provider refuses of what was
// admitted is answered otherwise too, and still counts as refused there.
func TestProviderRefusesAndChatIsAnswered(t *testing.T) {
	t.Parallel()
	for kind, reason := range map[geminitest.FaultKind]string{
		geminitest.Fault429RPM: "provider_quota", geminitest.Fault503: "provider_failed", geminitest.Fault429Spend: "provider_quota",
	} {
		s := degrading(t, knobs{sim: geminitest.Config{Seed: 3, Faults: []geminitest.Fault{{Kind: kind}}}}, chatRule(gemini.DegradedCanned))
		got := s.send(http.MethodPost, generate, question, "x-goog-api-key", s.chat())
		if got.status != http.StatusOK || got.header.Get("X-Nightshift-Degraded") != "canned; reason="+reason {
			t.Errorf("%s: %d %v %s", kind, got.status, got.header, got.body)
		}
		if n := s.used("rpm"); n != 1 {
			t.Errorf("%s: %d requests charged", kind, n)
		}
		s.eventually("nothing is held", func() bool { return s.state().InFlight == 0 })
	}
}

// TestRedisAwayAndChatIsAnswered: a gateway without its shared state still has
// an answer for those who wait.
func TestRedisAwayAndChatIsAnswered(t *testing.T) {
	t.Parallel()
	s := degrading(t, knobs{config: func(c *Config) { c.Keys = knownKey{} }}, chatRule(gemini.DegradedCanned))
	s.redis.Close()
	got := s.send(http.MethodPost, generate, question, "x-goog-api-key", "any")
	if got.status != http.StatusOK || got.header.Get("X-Nightshift-Degraded") != "canned; reason=unavailable" {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
}

// knownKey knows every key without Redis.
type knownKey struct{}

func (knownKey) Lookup(context.Context, string) (Identity, error) {
	return Identity{ID: "k1", Project: "proj", Class: "interactive", Feature: "chat"}, nil
}
