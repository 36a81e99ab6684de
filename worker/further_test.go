package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nightshift/jobs"
)

// sayer answers each row with what is written down for it, call by call, and
// keeps what was asked.
type sayer struct {
	mu     sync.Mutex
	says   map[string][]string      // row → bodies; "503" is a status
	any    string                   // what all other rows are answered
	reply  func(body string) string // or what makes it of the request
	bodies map[string][]string
	others int
}

// say changes what all other rows are answered.
func (s *sayer) say(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.any = body
}

func (s *sayer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.others
}

func answered(req *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: req}
}

func (s *sayer) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if s.reply != nil {
		return answered(req, 200, s.reply(string(b))), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for row, says := range s.says {
		if !strings.Contains(string(b), "id: "+row+" ") {
			continue
		}
		n := len(s.bodies[row])
		s.bodies[row] = append(s.bodies[row], string(b))
		status, body := 200, says[min(n, len(says)-1)]
		if len(body) == 3 {
			_, _ = fmt.Sscan(body, &status)
			body = `{"error":{"code":` + body + `,"message":"no","status":"NO"}}`
		}
		return answered(req, status, body), nil
	}
	if s.any != "" {
		s.others++
		return answered(req, 200, s.any), nil
	}
	return nil, fmt.Errorf("nothing is written down for %s", b)
}

// says is an answer with usage of 10 and 5 tokens.
func says(finish, text string) string {
	b, _ := json.Marshal(text)
	return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%s}]},"finishReason":%q}],
		"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`, b, finish)
}

// asked is a request's body as far as these tests look at it.
type asked struct {
	Contents []struct {
		Role  string
		Parts []struct{ Text string }
	}
	GenerationConfig  struct{ MaxOutputTokens, Temperature float64 }
	ContinuationToken string
}

func (s *sayer) asked(t *testing.T, row string, n int) asked {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var a asked
	if n >= len(s.bodies[row]) {
		t.Fatalf("%s was called %d times", row, len(s.bodies[row]))
	}
	if err := json.Unmarshal([]byte(s.bodies[row][n]), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// say runs rows r0, r1, … against what they are answered, and gives their results.
func say(t *testing.T, rows map[string][]string, change func(*jobs.Spec)) (*sayer, map[string]jobs.Result) {
	t.Helper()
	r := newRig(t)
	s := &sayer{says: rows, bodies: map[string][]string{}}
	run := r.enqueue(len(rows), spec(change))
	cfg := r.config()
	cfg.Client = r.clientVia(s, r.gate)
	r.start(cfg)
	r.await(run, 10*time.Minute)
	if n, err := r.rdb.Exists(t.Context(), "nightshift:jobs:{"+run.ID+"}:draft").Result(); err != nil || n != 0 {
		t.Errorf("drafts of rows that have ended are kept (err %v)", err)
	}
	return s, r.results(run)
}

// wantRows compares results as "status cause calls: output", with the raw text
// behind it where there is one.
func wantRows(t *testing.T, s *sayer, got map[string]jobs.Result, want map[string]string) {
	t.Helper()
	for row, w := range want {
		res := got[row]
		is := res.Status
		if res.Error != nil {
			is += " " + res.Error.Cause
		}
		is += fmt.Sprintf(" %d: %s", len(s.bodies[row]), res.Output)
		if res.Raw != "" {
			is += " / " + res.Raw
		}
		if is != w {
			t.Errorf("%s: %s (%+v)\nwant: %s", row, is, res.Error, w)
		}
	}
}

const tagSchema = `{"type":"object","required":["tags"],"properties":{"tags":{"type":"array","items":{"type":"string"}}}}`

// TestReask: an answer that breaks the schema is asked for again with its fault
// said, as often as the run says, whatever its attempts; the first text is kept,
// and all calls are paid for in the result.
func TestReask(t *testing.T) {
	virtual(t, func(t *testing.T) {
		good, bad := `{"tags":["a"]}`, `{"tags":[1]}`
		fenced := "```json\n" + good + "\n```\n"
		s, all := say(t, map[string][]string{
			"r0": {says("STOP", fenced)},
			"r1": {says("STOP", bad), says("STOP", good)},
			"r2": {says("STOP", bad), says("STOP", `{"tags":`), says("STOP", good)},
			"r3": {says("STOP", bad), "400"},
			"r4": {says("STOP", "Sure: "+good), "503", says("STOP", fenced)},
			"r5": {says("STOP", good)},
		}, func(s *jobs.Spec) {
			s.Attempts, s.Reask, s.Settings.ResponseSchema = 2, 1, json.RawMessage(tagSchema)
		})
		wantRows(t, s, all, map[string]string{
			"r0": "done 1: " + good + " / " + fenced,
			"r1": "done 2: " + good + " / " + bad,
			"r2": `failed schema 2: {"tags": / ` + bad,
			"r3": "failed schema 2: " + bad,
			"r4": "done 3: " + good + " / Sure: " + good,
			"r5": "done 1: " + good,
		})
		if u := all["r1"].Usage; u == nil || u.Total != 30 || u.Prompt != 20 || u.Output != 10 {
			t.Errorf("usage of two calls is %+v", u)
		}
		// A call is 10 × $0.30 and 5 × $2.50 a million: 15.5 micro-dollars, two are 31.
		if got := all["r1"].MicroUSD; got == nil || *got < 30 || *got > 32 {
			t.Errorf("two calls cost %v", got)
		}
		if string(all["r1"].Parsed) != good || all["r2"].Parsed != nil {
			t.Errorf("parsed %s and %s", all["r1"].Parsed, all["r2"].Parsed)
		}
		if m := all["r3"].Error.Message; !strings.Contains(m, "/tags/0") || !strings.Contains(m, "a further call brought no answer") {
			t.Errorf("r3 says %q", m)
		}
		again := s.asked(t, "r1", 1).Contents
		if len(again) != 3 || again[1].Role != "model" || again[1].Parts[0].Text != bad || again[2].Role != "user" || !strings.Contains(again[2].Parts[0].Text, "/tags/0") {
			t.Errorf("it was asked again with %+v", again)
		}
	})
}

// TestNoReask: without it one call is all.
func TestNoReask(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, all := say(t, map[string][]string{"r0": {says("STOP", "no JSON"), says("STOP", `{"tags":[]}`)}}, func(s *jobs.Spec) {
			s.Settings.ResponseSchema = json.RawMessage(tagSchema)
		})
		wantRows(t, s, all, map[string]string{"r0": "failed schema 1: no JSON"})
	})
}

// TestRegrow: an answer that reached its cap is asked for once more with twice the
// cap; what was there of it is kept whatever comes of that.
func TestRegrow(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, all := say(t, map[string][]string{
			"r0": {says("MAX_TOKENS", "beg"), says("STOP", "beginning and end")},
			"r1": {says("MAX_TOKENS", "beg"), says("MAX_TOKENS", "beginn"), says("STOP", "never asked")},
			"r2": {says("MAX_TOKENS", "beg"), "400"},
			"r3": {says("MAX_TOKENS", "beg"), says("SAFETY", "")},
		}, func(s *jobs.Spec) { s.Regrow, s.Settings.MaxOutputTokens = true, 100 })
		wantRows(t, s, all, map[string]string{
			"r0": "done 2: beginning and end",
			"r1": "truncated max_tokens 2: beginn",
			"r2": "truncated max_tokens 2: beg",
			"r3": "blocked safety 2: ",
		})
		if first, second := s.asked(t, "r0", 0).GenerationConfig.MaxOutputTokens, s.asked(t, "r0", 1).GenerationConfig.MaxOutputTokens; first != 100 || second != 200 {
			t.Errorf("caps of %v and %v, want 100 and 200", first, second)
		}
	})
}

// TestRegrowEnds: there is nothing to grow without leave, without a cap, or at the
// model's own limit.
func TestRegrowEnds(t *testing.T) {
	for name, change := range map[string]func(*jobs.Spec){
		"no leave": func(s *jobs.Spec) { s.Settings.MaxOutputTokens = 100 },
		"no cap":   func(s *jobs.Spec) { s.Regrow = true },
		"at most":  func(s *jobs.Spec) { s.Regrow, s.Settings.MaxOutputTokens = true, 65_536 },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				s, all := say(t, map[string][]string{"r0": {says("MAX_TOKENS", "beg"), says("STOP", "whole")}}, change)
				wantRows(t, s, all, map[string]string{"r0": "truncated max_tokens 1: beg"})
			})
		})
	}
}

// TestFinishReasonsOfRows: each kind of end in its own way, the reason kept.
func TestFinishReasonsOfRows(t *testing.T) {
	virtual(t, func(t *testing.T) {
		open := strings.Replace(says("CONTINUATION", "one "), `"finishReason"`, `"continuationToken":"dG9r","finishReason"`, 1)
		s, all := say(t, map[string][]string{
			"r0": {says("RECITATION", ""), says("STOP", "own words")},
			"r1": {says("RECITATION", "")},
			"r2": {says("LANGUAGE", "")},
			"r3": {open, says("STOP", "two")},
			"r4": {says("CONTINUATION", "one")}, // it does not say from where to go on
			"r5": {says("OTHER", "")},
			"r6": {"503", "503", says("NO_IMAGE", ""), says("NO_IMAGE", ""), says("STOP", "third of its kind")},
			"r7": {says("TIRED", ""), says("STOP", "")},
			"r8": {`{"promptFeedback":{"blockReason":"MODEL_ARMOR"},"usageMetadata":{"promptTokenCount":10,"totalTokenCount":10}}`},
		}, func(*jobs.Spec) {})
		wantRows(t, s, all, map[string]string{
			"r0": "done 2: own words",
			"r1": "failed recitation 2: ",
			"r2": "failed language 1: ",
			"r3": "done 2: one two",
			"r4": "truncated incomplete 5: one",
			"r5": "failed other 3: ",
			"r6": "done 5: third of its kind",
			"r7": "failed empty 4: ",
			"r8": "blocked model_armor 1: ",
		})
		for row, finish := range map[string]string{"r1": "RECITATION", "r2": "LANGUAGE", "r5": "OTHER", "r4": "CONTINUATION", "r7": "STOP"} {
			if all[row].Finish != finish {
				t.Errorf("%s keeps finish reason %q, want %s", row, all[row].Finish, finish)
			}
		}
		if cold, hot := s.asked(t, "r0", 0).GenerationConfig.Temperature, s.asked(t, "r0", 1).GenerationConfig.Temperature; cold != 0 || hot != 1.5 {
			t.Errorf("temperatures of %v and %v, want the model's own and 1.5", cold, hot)
		}
		if token := s.asked(t, "r3", 1).ContinuationToken; token != "dG9r" {
			t.Errorf("the rest was asked for with token %q", token)
		}
		if u := all["r8"].Usage; u == nil || u.Prompt != 10 || all["r8"].MicroUSD == nil || *all["r8"].MicroUSD == 0 {
			t.Errorf("a blocked prompt was billed: usage %+v, cost %v", u, all["r8"].MicroUSD)
		}
	})
}

// TestHotterHasAnEnd: at the API's highest temperature the same request would
// only end the same way.
func TestHotterHasAnEnd(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, all := say(t, map[string][]string{"r0": {says("RECITATION", ""), says("STOP", "never asked")}}, func(s *jobs.Spec) {
			two := float32(2)
			s.Settings.Temperature = &two
		})
		wantRows(t, s, all, map[string]string{"r0": "failed recitation 1: "})
	})
}

func TestUnfence(t *testing.T) {
	for text, want := range map[string]string{
		"```json\n{\"a\":1}\n```":           `{"a":1}`,
		" \n```JSON \r\n{\"a\":1}\r\n```\n": `{"a":1}`,
		"```\n[1,\n2]\n```":                 "[1,\n2]",
		"```json\n{}":                       "none", // cut
		"{}":                                "none",
		"Here:\n```json\n{}\n```":           "none",
		"```python\n{}\n```":                "none",
		"```json\n{}\n```\n```json\n1```":   "none",
		"```":                               "none",
		"``````":                            "none",
		"":                                  "none",
	} {
		got, fenced := unfence(text)
		if !fenced {
			got = "none"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestCutText never cuts a character in two.
func TestCutText(t *testing.T) {
	for n := range 8 {
		if got := cutText("a日b", n); !slices.Contains([]string{"…", "a…", "a日…", "a日b"}, got) {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
}
