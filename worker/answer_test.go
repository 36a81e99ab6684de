package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"nightshift/jobs"

	"google.golang.org/genai"
)

// TestAnswers judges bodies as the API sends them, all of them HTTP 200.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct{ name, body, want string }{
		{"good", `{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}]}`, "done: ab"},
		{"thoughts are no part of it", `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"}]},"finishReason":"STOP"}]}`, "done: a"},
		{"candidate 1 comes first", `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"},{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, "done: a"},
		{"prompt blocked", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, "ends blocked prohibited_content 200"},
		{"answer blocked", `{"candidates":[{"finishReason":"SAFETY"}]}`, "ends blocked safety 200"},
		{"recitation", `{"candidates":[{"finishReason":"RECITATION"}]}`, "ends failed recitation 200"},
		{"cut", `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}`, "ends truncated max_tokens 200"},
		{"STOP without parts", `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`, "fails empty 200"},
		{"STOP with thoughts only", `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]},"finishReason":"STOP"}]}`, "fails empty 200"},
		{"no candidates", `{"candidates":[]}`, "fails empty 200"},
		{"candidates null", `{"candidates":null}`, "fails empty 200"},
		{"content null", `{"candidates":[{"content":null,"finishReason":"STOP"}]}`, "fails empty 200"},
		{"nothing at all", `{}`, "fails empty 200"},
		{"blocked without a name", `{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"},"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, "done: a"},
		{"a block of the future", `{"promptFeedback":{"blockReason":"NOT_TODAY"}}`, "ends blocked not_today 200"},
		{"language", `{"candidates":[{"finishReason":"LANGUAGE"}]}`, "ends failed language 200"},
		{"it would go on", `{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"CONTINUATION"}]}`, "fails incomplete 200"},
		{"candidate null", `{"candidates":[null]}`, "fails empty 200"},
		{"parts null", `{"candidates":[{"content":{"parts":[null]},"finishReason":"STOP"}]}`, "fails empty 200"},
		{"no finish reason", `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, "fails incomplete 200"},
		{"a function call alone", `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"functionCall":{"name":"f","args":{"a":"<1>"}}}]},"finishReason":"STOP"}]}`, `done: {"functionCalls":[{"args":{"a":"<1>"},"name":"f"}]}`},
		{"a function call behind a text", `{"candidates":[{"content":{"parts":[{"text":"I look it up"},{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}`, "done: I look it up"},
		{"a function call that was cut", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"MAX_TOKENS"}]}`, "ends truncated max_tokens 200"},
		{"a reason of the future", `{"candidates":[{"finishReason":"TIRED"}]}`, "fails tired 200"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var resp genai.GenerateContentResponse
			if err := json.Unmarshal([]byte(tc.body), &resp); err != nil {
				t.Fatal(err)
			}
			if got := inWords(readGenerated(&resp)); got != tc.want {
				t.Errorf("row %s, want: %s", got, tc.want)
			}
		})
	}
}

// TestTruncatedByThinking: the reply that has spent all on thoughts says so.
func TestTruncatedByThinking(t *testing.T) {
	out := readGenerated(&genai.GenerateContentResponse{
		Candidates:    []*genai.Candidate{{FinishReason: genai.FinishReasonMaxTokens}},
		UsageMetadata: &genai.GenerateContentResponseUsageMetadata{PromptTokenCount: 1706, ThoughtsTokenCount: 2999},
	})
	if out.end != jobs.Truncated || !strings.Contains(out.fail.Message, "2999 thought tokens") {
		t.Errorf("row %s: %s", inWords(out), out.fail.Message)
	}
}

func TestEmbeddings(t *testing.T) {
	if got := readEmbedded(&genai.EmbedContentResponse{Embeddings: []*genai.ContentEmbedding{{Values: []float32{1, 2}}}}); got.end != jobs.Done || len(got.embedding) != 2 {
		t.Errorf("row %s with %d values", inWords(got), len(got.embedding))
	}
	for _, resp := range []*genai.EmbedContentResponse{nil, {}, {Embeddings: []*genai.ContentEmbedding{nil}}, {Embeddings: []*genai.ContentEmbedding{{}}}} {
		if got := inWords(readEmbedded(resp)); got != "fails empty 200" {
			t.Errorf("row %s", got)
		}
	}
}

// TestSchema: answers that break what the run asked for are kept but no
// success, and the message says where.
func TestSchema(t *testing.T) {
	raw := json.RawMessage(`{"type":"object","required":["tags"],"properties":{"tags":{"type":"array","items":{"type":"string"},"maxItems":2}}}`)
	schema, err := compileSchema(raw)
	if err != nil {
		t.Fatal(err)
	}
	r := &shape{schema: schema, json: true}
	for _, tc := range []struct{ output, want, message string }{
		{"{\"tags\": [\"a\"]}\n", "done: {\"tags\": [\"a\"]}\n", ""},
		{`{"tags":["a","b","c"]}`, "ends failed schema 200", "/tags"},
		{`{}`, "ends failed schema 200", "tags"},
		{`{"tags":[1]}`, "ends failed schema 200", "/tags/0"},
		{`Here it is: {"tags":[]}`, "ends failed schema 200", "not JSON"},
		{`{"tags":[]} {"tags":[]}`, "ends failed schema 200", "not JSON"},
	} {
		out := r.readJSON(outcome{end: jobs.Done, answer: answer{output: tc.output}})
		if got := inWords(out); got != tc.want || out.output != tc.output {
			t.Errorf("%s: row %s, want: %s", tc.output, got, tc.want)
		}
		if tc.message != "" && !strings.Contains(out.fail.Message, tc.message) {
			t.Errorf("%s: message %q does not name %s", tc.output, out.fail.Message, tc.message)
		}
		if tc.message == "" && string(out.parsed) != `{"tags":["a"]}` {
			t.Errorf("parsed %s", out.parsed)
		}
	}
}

// TestFunctionCallIsNoSchemaFault: a line's tools invite a call in place of the JSON
// that it asks for.
func TestFunctionCallIsNoSchemaFault(t *testing.T) {
	call := &genai.Candidate{FinishReason: genai.FinishReasonStop, Content: &genai.Content{Parts: []*genai.Part{{Text: "I look it up"}, {FunctionCall: &genai.FunctionCall{Name: "f"}}}}}
	out := (&shape{json: true}).readJSON(readGenerated(&genai.GenerateContentResponse{Candidates: []*genai.Candidate{call}}))
	if got := inWords(out); got != "done: I look it up" || string(out.parsed) != `{"functionCalls":[{"name":"f"}]}` {
		t.Errorf("row %s, parsed %s", got, out.parsed)
	}
	call.FinishReason = genai.FinishReasonMaxTokens
	if out := (&shape{}).readJSON(readGenerated(&genai.GenerateContentResponse{Candidates: []*genai.Candidate{call}})); out.parsed != nil {
		t.Errorf("a cut call is no answer: %s", out.parsed)
	}
}

// TestSchemaOpensNothing: a run's schema cannot make a worker read a file.
func TestSchemaOpensNothing(t *testing.T) {
	for _, ref := range []string{"file:///etc/hostname", "http://127.0.0.1:1/x"} {
		if _, err := compileSchema(json.RawMessage(`{"$ref":"` + ref + `"}`)); err == nil {
			t.Errorf("a reference to %s was followed", ref)
		}
	}
}

// TestCallsKeepTheirDigits: arguments of a line's own functions are as the answer has
// them, numbers beyond 2^53 too; nothing else of the outcome changes.
func TestCallsKeepTheirDigits(t *testing.T) {
	const call = `{"name":"f","args":{"id":9007199254740993,"price":1.10,"html":"<a&b>"}}`
	body := `{"candidates":[{"index":1,"content":{"parts":[{"functionCall":{"name":"other"}}]}},
		{"content":{"parts":[{"functionCall":{"name":"t"},"thought":true},{"functionCall": ` + call + `}]},"finishReason":"STOP"}]}`
	var resp genai.GenerateContentResponse
	if err := json.Unmarshal([]byte(body), &resp); err != nil {
		t.Fatal(err)
	}
	want := `{"functionCalls":[` + call + `]}`
	if out := readGenerated(&resp).withExactCalls([]byte(body)); out.end != jobs.Done || string(out.parsed) != want || out.output != want {
		t.Errorf("%s; want %s", out.parsed, want)
	}
	if out := readGenerated(&resp); string(out.withExactCalls([]byte("{")).parsed) != string(out.parsed) {
		t.Error("an answer that cannot be read again changes the outcome")
	}
}
