package geminitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"nightshift/limiter/gemini/geminitest"
)

func TestAdmin(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 2, InputTPM: 500}}}})
	web := httptest.NewServer(s)
	defer web.Close()
	do := func(method, path, body string, want int) string {
		t.Helper()
		r, _ := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want {
			t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, b)
		}
		return string(b)
	}
	call := "/v1beta/models/" + model + ":generateContent?key=k"
	do("POST", call, hello, 200)
	do("POST", call, hello, 200)
	do("POST", call, hello, 429)

	var st geminitest.Stats
	if err := json.Unmarshal([]byte(do("GET", "/sim/stats", "", 200)), &st); err != nil {
		t.Fatal(err)
	}
	m := st.Models[model]
	if st.Calls != 3 || st.ByStatus["200"] != 2 || st.ByStatus["429"] != 1 || st.ByReason["rpm"] != 1 || st.InFlight != 0 {
		t.Errorf("stats = %+v", st)
	}
	if want := (geminitest.WindowStats{Admitted: 2, MaxMinute: 2, MaxSent: 3, Limit: 2}); m.Requests != want || m.InputTokens.Limit != 500 {
		t.Errorf("model = %+v, want %+v", m, want)
	}
	if lines := strings.Split(strings.TrimSpace(do("GET", "/sim/calls", "", 200)), "\n"); len(lines) != 3 || !strings.Contains(lines[2], `"status":429,"reason":"rpm"`) {
		t.Errorf("calls = %q", lines)
	}
	do("POST", "/sim/reset", "", 200)
	do("POST", "/sim/keys/revoke", `{"key":"k"}`, 200)
	do("POST", call, hello, 400)
	do("POST", "/sim/keys/restore", `{"key":"k"}`, 200)
	do("POST", "/sim/faults", `{"faults":["503*1"]}`, 200)
	do("POST", call, hello, 503)
	do("POST", call, hello, 200)
	if text := do("POST", "/sim/faults", `{"faults":["504@x"]}`, 400); !strings.Contains(text, "neither a call") {
		t.Errorf("bad fault: %s", text)
	}
	do("POST", "/sim/keys/revoke", `{}`, 400)
	do("POST", "/sim/slow", `{"factor":0}`, 400)
	do("GET", "/sim/nothing", "", 404)
	if n := s.Count(); n != 3 {
		t.Errorf("%d calls since the reset, want 3", n)
	}
}

// The admin surface works without a network too.
func TestAdminOnTransport(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	c := http.Client{Transport: s}
	resp, err := c.Get("http://gemini.invalid/sim/stats")
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v %v", resp, err)
	}
	var st geminitest.Stats
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Error(err)
	}
}

const configYAML = `
models:
  - name: gemini-3.8-flash
    limits: {rpm: 60, input_tpm: 1000, rpd: 500, concurrency: 4}
    price: {input: 0.75, output: 3.75}
strict: true
counting: fixed_minute
spend: {ten_minutes: 10}
latency: {base: 250ms, per_token: 2ms, sigma: 0.3, slow_share: 0.01}
faults: ["503=1%", "revoke-key@100"]
seed: 7
`

func TestConfigFromYAMLAndJSON(t *testing.T) {
	want := geminitest.Config{
		Models: []geminitest.Model{{Name: model, Limits: geminitest.Limits{RPM: 60, InputTPM: 1000, RPD: 500, Concurrency: 4}, Price: geminitest.Price{Input: 0.75, Output: 3.75}}},
		Strict: true, Counting: geminitest.FixedMinute, Spend: geminitest.Spend{TenMinutes: 10},
		Latency: geminitest.Latency{Base: 250 * time.Millisecond, PerToken: 2 * time.Millisecond, Sigma: 0.3, SlowShare: 0.01},
		Faults:  []geminitest.Fault{{Kind: "503", Share: 0.01}, {Kind: "revoke-key", First: 100}}, Seed: 7,
	}
	var fromYAML, fromJSON geminitest.Config
	d := yaml.NewDecoder(strings.NewReader(configYAML), yaml.Strict())
	if err := d.Decode(&fromYAML); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	j := json.NewDecoder(bytes.NewReader(b))
	j.DisallowUnknownFields()
	if err := j.Decode(&fromJSON); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	if fmt.Sprintf("%+v", fromYAML) != fmt.Sprintf("%+v", want) {
		t.Errorf("YAML gave %+v\nwant %+v", fromYAML, want)
	}
	if fmt.Sprintf("%+v", fromJSON) != fmt.Sprintf("%+v", want) {
		t.Errorf("JSON gave %+v\nwant %+v", fromJSON, want)
	}
}

func TestConfigErrors(t *testing.T) {
	for want, cfg := range map[string]geminitest.Config{
		`counting: "hourly"`:     {Counting: "hourly"},
		"id_pattern":             {IDPattern: "("},
		"models[1].name":         {Models: []geminitest.Model{{Name: "a"}, {}}},
		`faults[0]: fault "418"`: {Faults: []geminitest.Fault{{Kind: "418"}}},
	} {
		if _, err := geminitest.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}

func TestKeepCalls(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{KeepCalls: 10})
	for range 25 {
		generate(t.Context(), s, "hello")
	}
	calls := s.Calls()
	if len(calls) != 10 || calls[0].Seq != 16 || s.MaxInWindow(model, geminitest.Requests, time.Hour) != 25 {
		t.Errorf("%d calls kept, the first is %d", len(calls), calls[0].Seq)
	}
}

func TestIDPattern(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{IDPattern: `ticket #(\d+)`})
	plain := geminitest.MustNew(geminitest.Config{})
	for prompt, want := range map[string][2]string{
		"about ticket #42":              {"42", ""},
		"{\"id\": \"row-7\", \"x\": 1}": {"", "row-7"},
		"Row id = 12.":                  {"", "12"},
		"valid: yes; ID: a_b-3":         {"", "a_b-3"},
		"I did: nothing":                {"", ""},
		"product_id:p9 and ticket #1":   {"1", "p9"},
	} {
		s.Reset()
		plain.Reset()
		generate(t.Context(), s, prompt)
		generate(t.Context(), plain, prompt)
		if got := [2]string{s.Calls()[0].ID, plain.Calls()[0].ID}; got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
