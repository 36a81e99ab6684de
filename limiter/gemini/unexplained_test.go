package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestUnexplainedAnswersAreKept: what nobody can explain is kept for a report, of
// people's calls and of bulk, once for each shape, and tells nobody's business.
func TestUnexplainedAnswersAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		clock := &handClock{at: noon}
		store := NewUnexplainedStore(rdb, meterScope())
		store.redisNow = clock.now
		const secret = "The patient Erika Mustermann has a fever of 39.4 degrees"
		n := 0
		tr := newTestTransport(t, sender(func(*http.Request) (*http.Response, error) {
			n++
			r := reply(429, "application/json", fmt.Sprintf(`{"error":{"code":429,"message":"Something new %d happened to %s with key %s and %s in projects/123456789012/locations/global (10.1.2.3, a@b-c.iam.gserviceaccount.com)"}}`, n, secret, testKey, theirKey))
			r.Header.Set("Server", "ESF")
			r.Header.Set("Set-Cookie", "sekret")
			return r, nil
		}), &fakeGate{}, func(c *TransportConfig) { c.Unexplained = store })
		body := `{"contents":[{"parts":[{"text":"` + secret + `"}]}]}`
		for _, class := range []string{"interactive", "bulk"} {
			ctx, obs := callCtx(WithCaller(t.Context(), Caller{Class: class, Feature: "f"}))
			if _, err := tr.RoundTrip(post(ctx, generate, body)); err != nil {
				t.Fatal(err)
			}
			if obs.Verdict.Kind != Unknown {
				t.Fatalf("%+v", obs.Verdict)
			}
			clock.turn(time.Minute)
		}
		list, err := store.List(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%d kept, %v", len(list), err)
		}
		u := list[0]
		if u.Count != 2 || !u.First.Equal(noon) || !u.Last.Equal(noon.Add(time.Minute)) || u.Status != 429 || u.Headers["Server"] != "ESF" {
			t.Errorf("%+v", u)
		}
		all, _ := json.Marshal(u)
		for _, leak := range []string{secret, "Mustermann", "fever", testKey, theirKey, "123456789012", "10.1.2.3", "gserviceaccount", "sekret"} {
			if strings.Contains(string(all), leak) {
				t.Errorf("%q is in %s", leak, all)
			}
		}
		if want := "Something new 2 happened to [prompt]"; !strings.Contains(u.Body, want) {
			t.Errorf("%q is not in %s", want, u.Body)
		}
		again, err := ParseSaved(all)
		if v := Classify(again, noon); err != nil || v.Kind != Unknown {
			t.Errorf("classified again: %+v, %v", v, err)
		}
	})
}

// TestUnexplainedAreBounded: the shape that was silent longest makes room.
func TestUnexplainedAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, rdb *redis.Client) {
		clock := &handClock{at: noon}
		store := NewUnexplainedStore(rdb, meterScope())
		store.redisNow = clock.now
		keep := func(body string) {
			t.Helper()
			if err := store.Keep(t.Context(), showable(Answer{Status: 429, Body: []byte(body)}, nil, "")); err != nil {
				t.Fatal(err)
			}
			clock.turn(time.Second)
		}
		keep("first")
		keep("second")
		for i := range unexplainedShapes - 2 {
			keep(strings.Repeat("x", i))
		}
		keep("first") // is the latest now
		keep("another: " + strings.Repeat("ü", unexplainedBytes))
		list, err := store.List(t.Context())
		if err != nil || len(list) != unexplainedShapes {
			t.Fatalf("%d kept, %v", len(list), err)
		}
		if a, b := list[0], list[1]; len(a.Body) > unexplainedBytes+len("…") || a.Bytes < 2*unexplainedBytes || b.Body != "first" || b.Count != 2 {
			t.Errorf("%d bytes kept of %d; then %q, %d times", len(a.Body), a.Bytes, b.Body, b.Count)
		}
		for _, u := range list {
			if u.Body == "second" {
				t.Error("the shape that was silent longest is still there")
			}
		}
		if left := rdb.PTTL(t.Context(), store.keys[0]).Val(); left <= 0 || left > unexplainedKept {
			t.Errorf("kept for %s", left)
		}
	})
}

// TestUnexplainedWithoutRedis: what cannot be kept stops no call.
func TestUnexplainedWithoutRedis(t *testing.T) {
	var logged bytes.Buffer
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	tr := newTestTransport(t, replies(429, "application/json", `{"error":{"code":429}}`), &fakeGate{}, func(c *TransportConfig) {
		c.Unexplained, c.Logger = NewUnexplainedStore(rdb, meterScope()), slog.New(slog.NewTextHandler(&logged, nil))
	})
	ctx, _ := callCtx(t.Context())
	resp, err := tr.RoundTrip(post(ctx, generate, question))
	if err != nil || resp.StatusCode != 429 || !strings.Contains(logged.String(), "is not kept") {
		t.Errorf("%v, %s", err, logged.String())
	}
	if _, err := NewUnexplainedStore(rdb, meterScope()).List(t.Context()); err == nil || errors.Is(err, redis.Nil) {
		t.Errorf("%v", err)
	}
}

func TestAnonymous(t *testing.T) {
	for in, want := range map[string]string{
		"project_number:123456":                                      "project_number:[redacted]",
		"projects/my-company-prod/locations/global":                  "projects/[redacted]/locations/global",
		`"consumer": "projects/123456"`:                              `"consumer": "[redacted]`,
		"used in project 123456 before":                              "used in project [redacted] before",
		"used in project acme-prod-1 before":                         "used in project [redacted] before",
		"overview?project=123456 then":                               "overview?project=[redacted] then",
		"GenerateRequestsPerMinutePerProjectPerModel-FreeTier":       "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
		"GenerateContentPaidTierInputTokensPerModelPerMinute":        "GenerateContentPaidTierInputTokensPerModelPerMinute",
		"per project per base model":                                 "per project per base model",
		"Your project has been denied access":                        "Your project has been denied access",
		"id 0123456789abcdef0123456789abcdef":                        "id [redacted]",
		"https://ai.google.dev/gemini-api/docs/rate-limits":          "https://ai.google.dev/gemini-api/docs/rate-limits",
		"from 10.20.30.40 by me@example.com, gemini-3.5-flash, 45.8": "from [redacted] by [redacted], gemini-3.5-flash, 45.8",
	} {
		if got := anonymous(in); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestPromptIsTakenOut however the answer repeats it.
func TestPromptIsTakenOut(t *testing.T) {
	const words = `say "hello" to all of my 27 dear friends`
	request, _ := json.Marshal(map[string]any{
		"system_instruction": map[string]any{"parts": []any{map[string]any{"text": "be brief"}}},
		"contents":           []any{map[string]any{"parts": []any{map[string]any{"text": words}}}},
		"generationConfig":   map[string]any{"responseMimeType": "application/json"},
	})
	for in, want := range map[string]string{
		"bad: " + words + "!": "bad: [prompt]!",
		`{"message":"bad: say \"hello\" to all of my 27 dear friends"}`: `{"message":"bad: [prompt]"}`,
		"all of my 27 dear is cut":                                      "[prompt] is cut",
		"you said be brief, thrice":                                     "you said [prompt], thrice",
		"responseMimeType application/json is not":                      "responseMimeType application/json is not",
	} {
		if got := withoutPrompt(in, request); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
