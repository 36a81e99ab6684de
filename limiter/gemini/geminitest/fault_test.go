package geminitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"nightshift/limiter/gemini/geminitest"
)

func withFaults(t *testing.T, specs ...string) *geminitest.Server {
	t.Helper()
	var cfg geminitest.Config
	for _, spec := range specs {
		f, err := geminitest.ParseFault(spec)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Faults = append(cfg.Faults, f)
	}
	return geminitest.MustNew(cfg)
}

func TestParseFault(t *testing.T) {
	good := map[string]geminitest.Fault{
		"503":                      {Kind: "503"},
		"503=1%":                   {Kind: "503", Share: 0.01},
		"hang=0.25":                {Kind: "hang", Share: 0.25},
		"503@17":                   {Kind: "503", First: 17, Last: 17},
		"429-rpm(36.5s)@100-200*3": {Kind: "429-rpm", Retry: 36500 * time.Millisecond, First: 100, Last: 200, Times: 3},
		"revoke-key@100":           {Kind: "revoke-key", First: 100},
		"429-capacity@2m0s-4m0s":   {Kind: "429-capacity", After: 2 * time.Minute, Until: 4 * time.Minute},
		"500@10s-":                 {Kind: "500", After: 10 * time.Second},
		"safety~id: 7 @ 5=x":       {Kind: "safety", Text: "id: 7 @ 5=x"},
		"504=50%/gemini-3.8-flash": {Kind: "504", Share: 0.5, Model: "gemini-3.8-flash"},
		"503=30%+flex":             {Kind: "503", Share: 0.3, Tier: "flex"},
		"slow@2m0s-+flex~x":        {Kind: "slow", After: 2 * time.Minute, Tier: "flex", Text: "x"},
		"reset@40-":                {Kind: "reset", First: 40},
	}
	for text, want := range good {
		got, err := geminitest.ParseFault(text)
		if err != nil || got != want {
			t.Errorf("ParseFault(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := geminitest.ParseFault(got.String()); err != nil || again != want {
			t.Errorf("%q became %q, which is %+v, %v", text, got, again, err)
		}
	}
	bad := map[string]string{
		"":             "no such kind",
		"418":          "no such kind",
		"503=":         "no probability",
		"503+batch":    "no service tier",
		"503=200%":     "not above 0 and at most 100%",
		"503=x":        "no probability",
		"503@0":        "neither a call",
		"503@x":        "neither a call",
		"503@9-4":      "calls 9 to 4 are none",
		"503@4m-2m":    "is no time",
		"503*0":        "no number of times",
		"503~":         "no text",
		"429-rpm(36":   "( without )",
		"429-rpm(x)":   "no duration",
		"429-rpm(1s)x": "not understood",
		"503/":         "no model",
		"answer":       "cannot be given as text",
	}
	for text, want := range bad {
		if _, err := geminitest.ParseFault(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseFault(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

// Each refusal has the status and words of the real one, and takes no quota.
func TestRefusals(t *testing.T) {
	want := map[geminitest.FaultKind]string{
		"429-rpm": "429 GenerateRequestsPerMinutePerProjectPerModel", "429-tpm": "429 GenerateContentPaidTierInputTokensPerModelPerMinute",
		"429-rpd": "429 GenerateRequestsPerDayPerProjectPerModel", "429-mixed": "429 generate_requests_per_model_per_day",
		"429-spend": "429 spend-based rate limit", "429-month": "429 project has exceeded its monthly", "429-account": "429 billing account has exceeded",
		"429-capacity": "429 Resource has been exhausted (e.g. check quota).", "429-limit0": "429 limit: 0",
		"429-unknown": "429 google.rpc.Help", "402": "402 prepayment credits", "403-disabled": "403 SERVICE_DISABLED",
		"403-suspended": "403 CONSUMER_SUSPENDED", "403-leaked": "403 leaked", "403-denied": "403 denied access",
		"400-location": "400 FAILED_PRECONDITION", "revoke-key": "400 API_KEY_INVALID",
	}
	for kind, expect := range want {
		s := withFaults(t, string(kind)+"@1")
		a := generate(t.Context(), s, "hello")
		code, text, _ := strings.Cut(expect, " ")
		if fmt.Sprint(a.status) != code || !strings.Contains(a.body, text) || !json.Valid([]byte(a.body)) {
			t.Errorf("%s: %d %s", kind, a.status, a.body)
		}
		if n := s.MaxInWindow(model, geminitest.Requests, time.Minute); n != 0 {
			t.Errorf("%s took %d requests", kind, n)
		}
		if c := s.Calls()[0]; c.Fault != kind || c.Reason == "" || c.Status != a.status {
			t.Errorf("%s: account %+v", kind, c)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
	}
}

// Each spoiled answer, as a client without an SDK sees it.
func TestSpoiledAnswers(t *testing.T) {
	want := map[string]func(a answer) bool{
		"500":               func(a answer) bool { return a.status == 500 && strings.Contains(a.body, "INTERNAL") },
		"502":               func(a answer) bool { return a.status == 502 && strings.HasPrefix(a.body, "<!DOCTYPE html>") },
		"503":               func(a answer) bool { return a.status == 503 && strings.Contains(a.body, "high demand") },
		"504":               func(a answer) bool { return a.status == 504 && strings.Contains(a.body, "Deadline expired") },
		"reset":             func(a answer) bool { return errors.Is(a.err, syscall.ECONNRESET) },
		"cut":               func(a answer) bool { return a.status == 200 && errors.Is(a.err, io.ErrUnexpectedEOF) },
		"html":              func(a answer) bool { return a.status == 200 && strings.HasPrefix(a.body, "<!DOCTYPE html>") },
		"empty":             func(a answer) bool { return a.status == 200 && a.body == "" },
		"error-200":         func(a answer) bool { return a.status == 200 && strings.Contains(a.body, `"code": 503`) },
		"cut-json":          func(a answer) bool { return a.status == 200 && a.err == nil && !json.Valid([]byte(a.body)) },
		"no-finish":         func(a answer) bool { return a.status == 200 && !strings.Contains(a.body, "finishReason") },
		"stream-error":      func(a answer) bool { return a.status == 200 && strings.Contains(a.body, `"code": 503`) },
		"safety":            func(a answer) bool { return finish(a) == "SAFETY" && !hasText(a) },
		"recitation":        func(a answer) bool { return finish(a) == "RECITATION" && !hasText(a) },
		"prohibited":        func(a answer) bool { return finish(a) == "PROHIBITED_CONTENT" && !hasText(a) },
		"safety-prompt":     func(a answer) bool { return finish(a) == "" && strings.Contains(a.body, `"blockReason":"SAFETY"`) },
		"prohibited-prompt": func(a answer) bool { return strings.Contains(a.body, `"blockReason":"PROHIBITED_CONTENT"`) },
		"no-text":           func(a answer) bool { return finish(a) == "STOP" && !hasText(a) },
		"max-tokens": func(a answer) bool {
			return finish(a) == "MAX_TOKENS" && !hasText(a) && strings.Contains(a.body, "thoughtsTokenCount")
		},
	}
	for spec, ok := range want {
		s := withFaults(t, spec+"@1")
		a := generate(t.Context(), s, "hello there")
		if !ok(a) {
			t.Errorf("%s: %d %v %s", spec, a.status, a.err, a.body)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
		if n := s.MaxInWindow(model, geminitest.Requests, time.Minute); n != 1 {
			t.Errorf("%s: %d requests were counted, want 1", spec, n)
		}
		if now, _ := s.InFlight(model); now != 0 {
			t.Errorf("%s: the call never ended", spec)
		}
		if next := generate(t.Context(), s, "hello there"); next.status != 200 || !hasText(next) {
			t.Errorf("%s: the next call got %d %s", spec, next.status, next.body)
		}
	}
}

func decode(a answer) (r struct {
	Candidates []struct {
		Content      struct{ Parts []struct{ Text string } }
		FinishReason string
	}
}) {
	_ = json.Unmarshal([]byte(a.body), &r)
	return r
}

func finish(a answer) string {
	if c := decode(a).Candidates; len(c) > 0 {
		return c[0].FinishReason
	}
	return ""
}

func hasText(a answer) bool {
	c := decode(a).Candidates
	return len(c) > 0 && len(c[0].Content.Parts) > 0 && c[0].Content.Parts[0].Text != ""
}

func TestStreamFaults(t *testing.T) {
	stream := model + ":streamGenerateContent?alt=sse"
	long := strings.ReplaceAll(hello, "hello there", strings.Repeat("walnut desk lamp ", 30))
	cfg := func(kind string) *geminitest.Server {
		return geminitest.MustNew(geminitest.Config{
			Models: []geminitest.Model{{Name: model, AnswerTokens: 200}}, Faults: []geminitest.Fault{{Kind: geminitest.FaultKind(kind)}},
		})
	}
	if a := post(t.Context(), cfg("cut"), stream, long); !errors.Is(a.err, io.ErrUnexpectedEOF) || !strings.Contains(a.body, "data: ") || strings.Contains(a.body, "finishReason") {
		t.Errorf("cut: %v %s", a.err, a.body)
	}
	if a := post(t.Context(), cfg("no-finish"), stream, long); a.err != nil || strings.Contains(a.body, "finishReason") {
		t.Errorf("no-finish: %v %s", a.err, a.body)
	}
	a := post(t.Context(), cfg("stream-error"), stream, long)
	events := strings.Split(strings.TrimSpace(a.body), "\r\n\r\n")
	if last := events[len(events)-1]; len(events) < 3 || !strings.HasPrefix(last, `data: {"error":{"code":503`) {
		t.Errorf("stream-error: %d events, last %s", len(events), last)
	}
	if a := post(t.Context(), cfg("safety"), stream, long); !strings.Contains(a.body, `"finishReason":"SAFETY"`) {
		t.Errorf("safety: %s", a.body)
	}
}

// Without alt=sse a stream is one JSON array.
func TestStreamAsArray(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, AnswerTokens: 100}}})
	a := post(t.Context(), s, model+":streamGenerateContent", hello)
	var chunks []map[string]any
	if err := json.Unmarshal([]byte(a.body), &chunks); err != nil || len(chunks) < 3 {
		t.Errorf("%d chunks, %v: %s", len(chunks), err, a.body)
	}
}

func TestHangLastsUntilTheClientGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withFaults(t, "hang@1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if a := generate(ctx, s, "hello"); !errors.Is(a.err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("after %s: %v", time.Since(start), a.err)
		}
		if c := s.Calls()[0]; c.Status != 499 || c.Took != time.Hour {
			t.Errorf("account %+v", c)
		}
	})
}

// The same faults over a real connection, through the SDK.
func TestFaultsOverTheNetwork(t *testing.T) {
	s := withFaults(t, "reset~one", "cut~two", "hang~three", "502~four")
	web := httptest.NewServer(s)
	defer web.Close()
	c := sdk(t, web.URL, &http.Transport{})
	ask := func(ctx context.Context, prompt string) error {
		_, err := c.Models.GenerateContent(ctx, model, genai.Text(prompt), nil)
		return err
	}
	if err := ask(t.Context(), "one"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("reset: %v", err)
	}
	if err := ask(t.Context(), "two"); err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("cut: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := ask(ctx, "three"); !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v", err)
	}
	if err := ask(t.Context(), "four"); wantAPIError(t, err, 502, "<!DOCTYPE html>").Code != 502 {
		t.Errorf("502: %v", err)
	}
	if err := s.Verify(); err != nil {
		t.Error(err)
	}
}

func TestRevokeKey(t *testing.T) {
	s := withFaults(t, "revoke-key@3")
	var got []int
	for range 4 {
		got = append(got, generate(t.Context(), s, "hello").status)
	}
	if fmt.Sprint(got) != "[200 200 400 400]" {
		t.Errorf("status = %v", got)
	}
	if a := post(t.Context(), s, model+":generateContent", hello, "X-Goog-Api-Key", "other"); a.status != 200 {
		t.Errorf("another key got %d", a.status)
	}
	s.RestoreKey("good")
	if a := generate(t.Context(), s, "hello"); a.status != 200 {
		t.Errorf("the restored key got %d", a.status)
	}
}

func TestShareIsSeededAndRight(t *testing.T) {
	run := func(seed uint64) (failed string, n int) {
		s := geminitest.MustNew(geminitest.Config{Seed: seed, Faults: []geminitest.Fault{{Kind: geminitest.Fault503, Share: 0.05}}})
		for i := range 2000 {
			if generate(t.Context(), s, "hello").status == 503 {
				failed += fmt.Sprint(i, " ")
				n++
			}
		}
		return failed, n
	}
	a, n := run(1)
	if b, _ := run(1); a != b {
		t.Error("the same seed fails other calls")
	}
	if b, _ := run(2); a == b {
		t.Error("another seed fails the same calls")
	}
	if math.Abs(float64(n)-100) > 40 {
		t.Errorf("%d of 2000 calls failed, want about 100", n)
	}
}

func TestFaultsByTimeAndTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withFaults(t, "429-capacity@2m-4m", "500*1")
		var got []int
		for range 6 {
			got = append(got, generate(t.Context(), s, "hello").status)
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		}
		if fmt.Sprint(got) != "[500 200 429 429 200 200]" {
			t.Errorf("status = %v", got)
		}
	})
}

func TestVerifyNamesWhatNeverCame(t *testing.T) {
	s := withFaults(t, "503@5", "500~needle", "504*2", "429-rpm=1%")
	generate(t.Context(), s, "hello")
	err := s.Verify()
	for _, want := range []string{"fault 503@5 came 0 of 1", "fault 500~needle came 0 of 1", "fault 504*2 came 1 of 2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Verify = %v, want %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "429-rpm") {
		t.Errorf("Verify asks for a fault of chance: %v", err)
	}
}

func TestAnswerFault(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Faults: []geminitest.Fault{{
		Kind: geminitest.FaultAnswer, Times: 1,
		Answer: &geminitest.Answer{Status: 429, Header: http.Header{"Retry-After": {"17"}}, Body: `{"error":{"message":"busy"}}`},
	}}})
	a := generate(t.Context(), s, "hello")
	if a.status != 429 || a.header.Get("Retry-After") != "17" || a.body != `{"error":{"message":"busy"}}` {
		t.Errorf("answer = %+v", a)
	}
}
