package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter"
)

const fullRequest = `{
	"contents": [{"role": "user", "parts": [{"text": "hello"}]}],
	"systemInstruction": {"parts": [{"text": "be brief"}]},
	"generationConfig": {"temperature": 0.5, "topP": 0.9, "topK": 40, "maxOutputTokens": 100, "seed": 7, "candidateCount": 1,
		"stopSequences": ["END"], "responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"},
		"thinkingConfig": {"thinkingBudget": 10}, "presencePenalty": 0.1, "mediaResolution": "LOW"},
	"tools": [{"googleSearch": {}}],
	"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
	"safetySettings": [{"category": "HARM", "threshold": "BLOCK_NONE"}],
	"cachedContent": "cachedContents/abc",
	"somethingNew": 1
}`

func keyRequest(body string) DegradeRequest {
	return DegradeRequest{
		Caller: Caller{Class: "interactive", Feature: "chat", Path: limiter.Path{Tenant: "acme", Key: "k1"}},
		Lane:   limiter.Lane{Provider: "gemini", Project: "p", Region: "global", Model: "gemini-2.5-flash"},
		Model:  Model{Name: "gemini-2.5-flash"}, Version: "v1beta", Body: []byte(body),
	}
}

func keyOf(t *testing.T, r DegradeRequest) string {
	t.Helper()
	key, ok := answerKey(r)
	if !ok {
		t.Fatalf("no key for %s", r.Body)
	}
	return key
}

// TestAnswerKeyTellsApart: every single value of a request that changes what is
// answered changes the key, and so do tenant, model and version.
func TestAnswerKeyTellsApart(t *testing.T) {
	base := keyOf(t, keyRequest(fullRequest))
	seen := map[string]string{base: "the request"}
	other := func(name string, r DegradeRequest) {
		t.Helper()
		key := keyOf(t, r)
		if was, taken := seen[key]; taken {
			t.Errorf("%s has the key of %s", name, was)
		}
		seen[key] = name
	}
	for _, change := range [][2]string{
		{`"hello"`, `"hello "`}, {`"user"`, `"model"`}, {`"be brief"`, `"be long"`}, {`"temperature": 0.5`, `"temperature": 0.6`},
		{`0.9`, `0.8`}, {`40`, `41`}, {`"maxOutputTokens": 100`, `"maxOutputTokens": 101`}, {`"seed": 7`, `"seed": 8`},
		{`"candidateCount": 1`, `"candidateCount": 2`}, {`"END"`, `"STOP"`}, {`application/json`, `text/plain`}, {`"OBJECT"`, `"ARRAY"`},
		{`"thinkingBudget": 10`, `"thinkingBudget": 0`}, {`0.1`, `0.2`}, {`"LOW"`, `"HIGH"`}, {`googleSearch`, `codeExecution`},
		{`"AUTO"`, `"NONE"`}, {`BLOCK_NONE`, `BLOCK_ALL`}, {`cachedContents/abc`, `cachedContents/abd`}, {`"somethingNew": 1`, `"somethingNew": 2`},
		{`"seed": 7,`, ``}, {`"systemInstruction": {"parts": [{"text": "be brief"}]},`, ``},
	} {
		body := strings.Replace(fullRequest, change[0], change[1], 1)
		if body == fullRequest {
			t.Fatalf("%s is not there", change[0])
		}
		other(change[0]+" → "+change[1], keyRequest(body))
	}
	for name, change := range map[string]func(*DegradeRequest){
		"another tenant":       func(r *DegradeRequest) { r.Caller.Path.Tenant = "bmce" },
		"another organization": func(r *DegradeRequest) { r.Caller.Path.Organization = "o" },
		"no tenant, key 1":     func(r *DegradeRequest) { r.Caller.Path.Tenant = "" },
		"no tenant, key 2":     func(r *DegradeRequest) { r.Caller.Path.Tenant, r.Caller.Path.Key = "", "k2" },
		"another version":      func(r *DegradeRequest) { r.Version = "v1" },
		"another project":      func(r *DegradeRequest) { r.Lane.Project = "q" },
		"another model":        func(r *DegradeRequest) { r.Model.Name, r.Lane.Model = "x", "x" },
	} {
		r := keyRequest(fullRequest)
		change(&r)
		other(name, r)
	}
}

// TestAnswerKeyIsTheSame: how the request is written, how it is served, which of
// a tenant's keys asks, and for which of its features, changes nothing.
func TestAnswerKeyIsTheSame(t *testing.T) {
	base := keyOf(t, keyRequest(fullRequest))
	var doc map[string]any
	if err := json.Unmarshal([]byte(fullRequest), &doc); err != nil {
		t.Fatal(err)
	}
	doc["serviceTier"], doc["labels"] = "flex", map[string]string{"team": "a"}
	dense, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	r := keyRequest(string(dense))
	r.Caller.Path.Key, r.Caller.Feature, r.Stream = "k2", "search", true
	if keyOf(t, r) != base {
		t.Error("the same request has another key")
	}
	for _, bad := range []string{``, `[]`, `{"contents":`, `{} {}`, `null x`} {
		if _, ok := answerKey(keyRequest(bad)); ok {
			t.Errorf("%q has a key", bad)
		}
	}
}

// TestMergeStream: a stream's events become what the unary method would have
// answered, as events or as an array, however lines end.
func TestMergeStream(t *testing.T) {
	events := []string{
		`{"candidates":[{"content":{"parts":[{"text":"I think","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"totalTokenCount":3},"modelVersion":"m"}`,
		`{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0},{"content":{"parts":[{"text":"B"}],"role":"model"},"index":1}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"lo \"x\" <b>"},{"functionCall":{"name":"f"}},{"text":"!"}]},"finishReason":"STOP","index":0}]}`,
		`{"candidates":[{"finishReason":"STOP","index":1}],"usageMetadata":{"totalTokenCount":9}}`,
	}
	sse := "data: " + strings.Join(events, "\r\n\r\ndata: ") + "\r\n\r\ndata: [DONE]\r\n\r\n"
	for name, raw := range map[string]string{"events": sse, "plain newlines": strings.ReplaceAll(sse, "\r\n", "\n"), "an array": "[" + strings.Join(events, ",\n") + "]"} {
		doc, ok := mergeStream([]byte(raw))
		if !ok {
			t.Fatalf("%s: no answer", name)
		}
		var resp genai.GenerateContentResponse
		if err := json.Unmarshal(doc, &resp); err != nil {
			t.Fatal(err)
		}
		parts := resp.Candidates[0].Content.Parts
		if len(parts) != 4 || !parts[0].Thought || parts[1].Text != `Hello "x" <b>` || parts[2].FunctionCall == nil || parts[3].Text != "!" {
			t.Errorf("%s: %s", name, doc)
		}
		if resp.Candidates[1].Content.Parts[0].Text != "B" || resp.Candidates[1].FinishReason != "STOP" || resp.UsageMetadata.TotalTokenCount != 9 || resp.ModelVersion != "m" {
			t.Errorf("%s: %s", name, doc)
		}
		if !allStopped(doc) {
			t.Errorf("%s: not whole: %s", name, doc)
		}
	}
	for _, raw := range []string{"", "data: {\"candidates\":\r\n\r\n", "[{]", "data: {}\n\n"} {
		if doc, ok := mergeStream([]byte(raw)); ok {
			t.Errorf("%q makes %s", raw, doc)
		}
	}
}

// TestTranslate: a request goes to another model only when that can take it, with
// its settings in that model's terms.
func TestTranslate(t *testing.T) {
	budget := int64(0)
	for name, c := range map[string]struct {
		pair ModelPair
		body string
		want string // "" for one that must not go
		note string
	}{
		"as it is":        {ModelPair{}, `{"contents":[{"parts":[{"text":"x"}]}]}`, `{"contents":[{"parts":[{"text":"x"}]}]}`, ""},
		"numbers stay":    {ModelPair{}, `{"generationConfig":{"seed":9007199254740993,"temperature":0.10}}`, `{"generationConfig":{"seed":9007199254740993,"temperature":0.10}}`, ""},
		"thinking drops":  {ModelPair{}, `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"high"},"seed":1}}`, `{"generationConfig":{"seed":1}}`, "dropped thinkingConfig"},
		"a budget":        {ModelPair{ThinkingBudget: &budget}, `{"generation_config":{"thinking_config":{"thinking_level":"high","include_thoughts":true}}}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":0}}}`, "set thinkingBudget"},
		"a level":         {ModelPair{ThinkingLevel: "low"}, `{"contents":[]}`, `{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}`, "set thinkingLevel"},
		"fields drop":     {ModelPair{Drop: []string{"logprobs", "responseLogprobs"}}, `{"generationConfig":{"logprobs":3,"response_logprobs":true,"seed":1}}`, `{"generationConfig":{"seed":1}}`, "dropped logprobs, responseLogprobs"},
		"signatures drop": {ModelPair{}, `{"contents":[{"parts":[{"text":"x","thoughtSignature":"AA"}]}]}`, `{"contents":[{"parts":[{"text":"x"}]}]}`, "dropped thoughtSignature"},
		"tools":           {ModelPair{Schema: true}, `{"tools":[{"googleSearch":{}}]}`, ``, ""},
		"tools it knows":  {ModelPair{Tools: true}, `{"tools":[{"googleSearch":{}}]}`, `{"tools":[{"googleSearch":{}}]}`, ""},
		"a schema":        {ModelPair{Tools: true}, `{"generationConfig":{"response_json_schema":{"type":"object"}}}`, ``, ""},
		"its own cache":   {ModelPair{Tools: true, Schema: true}, `{"cachedContent":"cachedContents/1"}`, ``, ""},
		"no object":       {ModelPair{}, `[]`, ``, ""},
	} {
		out, note, ok := c.pair.translate([]byte(c.body))
		if ok != (c.want != "") || string(out) != c.want || note != c.note {
			t.Errorf("%s: %s %q %t, want %s %q", name, out, note, ok, c.want, c.note)
		}
	}
}
