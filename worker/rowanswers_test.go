package worker

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"nightshift/jobs"
)

var rowInPrompt = regexp.MustCompile(`id: (r\d+) `)

// TestEachRowItsAnswer: answers come in any order, and each is under the row that
// asked for it.
func TestEachRowItsAnswer(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		s := &sayer{reply: func(body string) string {
			row := rowInPrompt.FindStringSubmatch(body)[1]
			h := fnv.New32a()
			_, _ = h.Write([]byte(row))
			pass(time.Duration(h.Sum32()%3000) * time.Millisecond)
			return says("STOP", row)
		}}
		run := r.enqueue(200, spec())
		cfg := r.config()
		cfg.Client, cfg.Concurrency = r.clientVia(s, r.gate), 16
		r.start(cfg)
		r.await(run, 10*time.Minute)
		all := r.results(run)
		if len(all) != 200 {
			t.Errorf("%d results", len(all))
		}
		for row, res := range all {
			if res.Output != row || res.Index != index(row) {
				t.Errorf("%s (place %d) has the answer of %s", row, res.Index, res.Output)
			}
		}
	})
}

func index(row string) (n int64) {
	_, _ = fmt.Sscanf(row, "r%d", &n)
	return n
}

// TestThoughtsAreBilled: a reply that is all thoughts is no success, says so by its
// cause, and has been paid for.
func TestThoughtsAreBilled(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, all := say(t, map[string][]string{"r0": {`{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}],
			"usageMetadata":{"promptTokenCount":1706,"thoughtsTokenCount":2999,"totalTokenCount":4705}}`}}, func(*jobs.Spec) {})
		wantRows(t, s, all, map[string]string{"r0": "truncated truncated_by_thinking 1: "})
		// 1,706 × $0.30 and 2,999 × $2.50 a million are 8,009.3 micro-dollars.
		if u := all["r0"].Usage; u.Thoughts != 2999 || u.Output != 0 || u.Total != 4705 || all["r0"].MicroUSD == nil || *all["r0"].MicroUSD < 8009 || *all["r0"].MicroUSD > 8010 {
			t.Errorf("usage %+v, cost %v", u, all["r0"].MicroUSD)
		}
	})
}

// TestFieldsAndTextsUnchanged: what the user gave comes back as it was, and the
// answer as the model wrote it.
func TestFieldsAndTextsUnchanged(t *testing.T) {
	virtual(t, func(t *testing.T) {
		r := newRig(t)
		const fields = `{"id":"r0","word":"w","list":[1,2.50,{"a":[]}],"none":null,"big":634866135153775564,"html":"<a href=\"x?a&b\">"}`
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		if err := os.WriteFile(path, []byte(fields+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		const text = "if a < b && c > d { \u2028 }"
		s := &sayer{any: says("STOP", text)}
		run := r.enqueueFile(path, spec())
		cfg := r.config()
		cfg.Client = r.clientVia(s, r.gate)
		r.start(cfg)
		r.await(run, time.Minute)
		res := r.results(run)["r0"]
		if string(res.Fields) != fields || res.Output != text || res.Raw != "" {
			t.Errorf("fields %s\noutput %q, raw %q", res.Fields, res.Output, res.Raw)
		}
		line, err := res.Line()
		if err != nil || !json.Valid(line) {
			t.Fatalf("%s (%v)", line, err)
		}
	})
}
