package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func lineSpec(lines string) Spec { return Spec{Kind: Generate, Model: "gemini-x", Lines: lines} }

func chatLine(body string) json.RawMessage {
	return json.RawMessage(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"gpt-x",` + body + `}}`)
}

func TestOpenAILine(t *testing.T) {
	r, err := Render(lineSpec(LinesOpenAI), chatLine(`"messages":[{"role":"system","content":"be brief"},{"role":"developer","content":[{"type":"text","text":"and kind"}]},
		{"role":"user","content":"hi"},{"role":"assistant","content":"hello","refusal":null},
		{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/4AAQSkY=","detail":"auto"}}]}],
		"temperature":0.5,"top_p":0.9,"seed":3,"max_completion_tokens":50,"stop":["x","y"],"presence_penalty":0.1,"n":1,"stream":false,"user":"u",
		"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(r), "be brief\n\nand kind | user hi | model hello | user what is this? <data:image/jpeg;base64,/9j/4AAQSkY= image/jpeg>"; got != want || r.Model != "gpt-x" {
		t.Errorf("got %q of %s, want %q", got, r.Model, want)
	}
	want := `{"temperature":0.5,"top_p":0.9,"max_output_tokens":50,"seed":3,"stop_sequences":["x","y"],"presence_penalty":0.1,"response_mime_type":"application/json","response_schema":{"type":"object"}}`
	if got := encoded(r.Settings); got != want {
		t.Errorf("settings %s, want %s", got, want)
	}
	embed := lineSpec(LinesOpenAI)
	embed.Kind = Embed
	r, err = Render(embed, json.RawMessage(`{"custom_id":"a","url":"/v1/embeddings","body":{"model":"e","input":["one"],"dimensions":8,"encoding_format":"float"}}`))
	if err != nil || r.Prompt != "one" || r.Settings.Dimensions != 8 {
		t.Errorf("embedding: %+v (%v)", r, err)
	}
}

// TestOpenAILineRefused: what cannot be carried over is named, never left out.
func TestOpenAILineRefused(t *testing.T) {
	user := `"messages":[{"role":"user","content":"hi"}]`
	for body, want := range map[string]string{
		user + `,"tools":[{}]`:                             `field "body.tools": has no equivalent`,
		user + `,"logit_bias":{"1":2}`:                     `field "body.logit_bias": has no equivalent`,
		user + `,"n":2`:                                    `field "body.n": 2 has no equivalent`,
		user + `,"stream":true`:                            `field "body.stream": true has no equivalent`,
		user + `,"temperature":"hot"`:                      `field "body.temperature": cannot be "hot"`,
		user + `,"max_tokens":1,"max_completion_tokens":2`: `field "body.max_tokens": is another than`,
		user + `,"response_format":{"type":"grammar"}`:     `field "body.response_format": {"type":"grammar"} has no equivalent`,
		`"messages":[]`:                                    `field "body.messages": there is no message of the user`,
		`"messages":[{"role":"tool","content":"x"}]`:       `field "body.messages[0].role": "tool" has no equivalent`,
		`"messages":[{"role":"user","content":"x"},{"role":"system","content":"y"}]`:                                 `field "body.messages[1].role": a system message amid`,
		`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]`:                              `field "body.messages": the conversation ends with the assistant`,
		`"messages":[{"role":"user","content":"x","name":"Bob"}]`:                                                    `field "body.messages[0].name": has no equivalent`,
		`"messages":[{"role":"assistant","content":null,"tool_calls":[]}]`:                                           `field "body.messages[0].tool_calls": has no equivalent`,
		`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}]`:        `field "body.messages[0].content[0].image_url.url": is no data: URI`,
		`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x","detail":"low"}}]}]`: `field "body.messages[0].content[0].image_url.detail": "low" has no equivalent`,
		`"messages":[{"role":"user","content":[{"type":"video"}]}]`:                                                  `field "body.messages[0].content[0].type": "video" has no equivalent`,
	} {
		if _, err := Render(lineSpec(LinesOpenAI), chatLine(body)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", body, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"custom_id":"a","url":"/v1/responses","body":{}}`:                       `field "url": no such way to Gemini: /v1/responses`,
		`{"custom_id":"a","url":"/v1/embeddings","body":{}}`:                      `field "url": the line asks for an embedding`,
		`{"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}}`: `field "method": requests are sent with POST`,
		`{"custom_id":"a","url":"/v1/chat/completions","body":[]}`:                `field "body": want an object, not a list`,
	} {
		if _, err := Render(lineSpec(LinesOpenAI), json.RawMessage(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", line, err, want)
		}
	}
}

func TestGeminiLine(t *testing.T) {
	line := `{"key":"k","request":{"model":"models/gemini-x","contents":[{"parts":[{"text":"<hi>"}]}],"safetySettings":[{"category":"C","threshold":"OFF"}],"generation_config":{"response_mime_type":"application/json","max_output_tokens":9,"candidate_count":1},"n":12345678901234567890}}`
	r, err := Render(lineSpec(LinesGemini), json.RawMessage(line))
	if err != nil || r.Model != "models/gemini-x" || !r.Settings.AsksJSON() || r.Settings.MaxOutputTokens != 9 {
		t.Fatalf("%+v (%v)", r, err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &body); err != nil || body["model"] != nil || string(body["n"]) != "12345678901234567890" || !strings.Contains(string(r.Body), `"threshold":"OFF"`) {
		t.Errorf("body %s (%v)", r.Body, err)
	}
	for request, want := range map[string]string{
		`{}`:              `field "request.contents": want a list`,
		`{"contents":[]}`: `field "request.contents": want a list`,
		`[]`:              `field "request": want an object`,
		`{"contents":[{}],"generationConfig":{"candidateCount":2}}`:               `field "request.generationConfig.candidateCount": 2: a row has one answer`,
		`{"contents":[{}],"generation_config":{"response_modalities":["IMAGE"]}}`: `field "request.generation_config.responseModalities": ["IMAGE"]: results have text only`,
	} {
		if _, err := Render(lineSpec(LinesGemini), json.RawMessage(`{"key":"k","request":`+request+`}`)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", request, err, want)
		}
	}
}

// TestLinesHaveOneModel: the model of the first line, or one that was given.
func TestLinesHaveOneModel(t *testing.T) {
	const body = `"messages":[{"role":"user","content":"hi"}]`
	other := strings.Replace(strings.Replace(string(chatLine(body)), "gpt-x", "gpt-y", 1), `"a"`, `"b"`, 1)
	in := Input{Path: file(t, "b.jsonl", []byte(string(chatLine(body))+"\n"+other+"\n"))}
	spec := Spec{Kind: Generate}
	o := PrepareOptions{Model: func(named string) (string, string, error) { return "gemini-for-" + named, "lane", nil }}
	_, err := Prepare(context.Background(), in, spec, o)
	if err == nil || !strings.Contains(err.Error(), `b.jsonl:2: row "b", field "body.model": "gpt-y", but line 1 has "gpt-x"`) {
		t.Errorf("two models: %v", err)
	}
	spec.Model = "gemini-x"
	p, err := Prepare(context.Background(), in, spec, o)
	if err != nil || p.Rows != 2 || p.Spec.Model != "gemini-x" || p.Spec.Lines != LinesOpenAI {
		t.Fatalf("with a model given: %+v (%v)", p, err)
	}
	defer p.Close()
	in.Path, spec.Model = file(t, "c.jsonl", chatLine(body)), ""
	q, err := Prepare(context.Background(), in, spec, o)
	if err != nil || q.Spec.Model != "gemini-for-gpt-x" || q.Spec.Lane != "lane" {
		t.Fatalf("named by the line: %v", err)
	}
	defer q.Close()
	spec.Model, spec.Settings.Seed = "gemini-x", new(int32)
	if _, err := Prepare(context.Background(), in, spec, o); err == nil || !strings.Contains(err.Error(), "settings (temperature, schema, …) cannot be added") {
		t.Errorf("settings beside lines: %v", err)
	}
}
