package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/limiter/gemini"
)

// snippet runs one of the README's programs: it asks a model one question and prints
// the answer, or fails with what its caller would see.
type snippet struct {
	name string
	args func(folder string) []string
}

var snippets = []snippet{
	{"python3", func(folder string) []string {
		return []string{"-B", "-c", `import json, sys; sys.path.insert(0, ` + quoted(folder) + `); import permit; print(json.dumps(permit.generate(` + quoted(flash) + `, json.loads(` + quoted(question) + `))))`}
	}},
	{"node", func(folder string) []string {
		return []string{"--input-type=module", "-e", `const { generate } = await import(` + quoted("file://"+folder+"/permit.mjs") + `); console.log(JSON.stringify(await generate(` + quoted(flash) + `, ` + question + `)))`}
	}},
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // strings always can be written
	return string(b)
}

func (x snippet) run(s *setup, gate, key, provider string) (stdout, stderr string, ok bool) {
	s.Helper()
	if why := absent(x.name); why != "" {
		cannot(s.T, why)
	}
	folder, err := filepath.Abs(filepath.Join("testdata", "snippets"))
	s.must(err)
	cmd := exec.CommandContext(s.Context(), x.name, x.args(folder)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GATE_URL=" + gate, "GATE_KEY=" + key, "GEMINI_URL=" + provider, "GEMINI_API_KEY=" + providerKey}
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	err = cmd.Run()
	return out.String(), bad.String(), err == nil
}

// refusingProvider has spent its quota.
func refusingProvider(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel","quotaValue":"10"}]}]}}`))
}

// breakingProvider takes a call and hangs up.
func breakingProvider(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestSnippets runs each of them against the gateway and a provider that answers,
// refuses, hangs up, or is not there, and against a gateway that has no room.
func TestSnippets(t *testing.T) {
	t.Parallel()
	for _, x := range snippets {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			records := &seen{}
			s := start(t, knobs{transport: func(c *gemini.TransportConfig) { c.Records = records }})
			key := s.chat()
			good := httptest.NewServer(s.sim)
			defer good.Close()
			out, bad, ok := x.run(s, s.url, key, good.URL)
			if !ok || !strings.Contains(out, "candidates") {
				t.Fatalf("%s%s", out, bad)
			}
			if calls := s.sim.Calls(); len(calls) != 1 {
				t.Errorf("%d calls", len(calls))
			} else if r := records.last(t); !r.Lent || r.Usage == nil || r.Usage.Prompt != calls[0].PromptTokens || r.Status != 200 || r.Verdict != "" || r.Feature != "chat" {
				t.Errorf("%+v", r)
			}
			breaks := httptest.NewServer(http.HandlerFunc(breakingProvider))
			defer breaks.Close()
			if out, _, ok := x.run(s, s.url, key, breaks.URL); ok {
				t.Errorf("an answer of a provider that hung up: %s", out)
			}
			if r := records.last(t); !r.Lent || r.Status != 0 || !r.Assumed || r.Reason != "connection" {
				t.Errorf("%+v", r)
			}
			used := s.used("rpm")
			gone := httptest.NewServer(nil)
			gone.Close()
			if _, _, ok := x.run(s, s.url, key, gone.URL); ok {
				t.Error("an answer of a provider that is not there")
			}
			if now := s.used("rpm"); now != used {
				t.Errorf("%d requests are charged for a call that was never sent", now-used)
			}
			refuses := httptest.NewServer(http.HandlerFunc(refusingProvider))
			defer refuses.Close()
			if out, bad, ok := x.run(s, s.url, key, refuses.URL); !ok || !strings.Contains(out, "Quota exceeded") {
				t.Errorf("%s%s", out, bad)
			}
			if r := records.last(t); r.Verdict != gemini.Wait || r.Status != 429 {
				t.Errorf("%+v", r)
			}
			if n := s.state().InFlight; n != 0 {
				t.Errorf("%d permits are open", n)
			}
			unknown := s.key("interactive", "")
			if out, bad, ok := x.run(s, s.url, unknown, good.URL); ok || !strings.Contains(bad, "feature") {
				t.Errorf("without a feature: %s%s", out, bad)
			}
		})
	}
}

// TestSnippetsAreShort, and the README shows them as they are.
func TestSnippetsAreShort(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, language := range map[string]string{"permit.py": "python", "permit.mjs": "js"} {
		text, err := os.ReadFile(filepath.Join("testdata", "snippets", name))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > 30 {
			t.Errorf("%s has %d lines, want at most 30", name, n)
		}
		if !bytes.Contains(readme, append([]byte("```"+language+"\n"), append(text, "```"...)...)) {
			t.Errorf("README does not show %s as it is", name)
		}
	}
}

// TestSnippetsShareTheShell: what a snippet reads from the environment is no variable
// with the prefix of nightshift's own settings, which refuse one that they do not know.
func TestSnippetsShareTheShell(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/snippets/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("NIGHTSHIFT_")) {
			t.Errorf("%s reads a variable that ends every nightshift command of the same shell", name)
		}
	}
}
