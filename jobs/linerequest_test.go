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
	line := `{"key":"k","request":{"model":"models/gemini-x","contents":[{"parts":[{"text":"<hi>"}]}],"safetySettings":[{"category":"C","threshold":"OFF"}],"generation_config":{"response_mime_type":"application/json","max_output_tokens":9,"candidate_count":1},"labels":{"n":12345678901234567890}}}`
	r, err := Render(lineSpec(LinesGemini), json.RawMessage(line))
	if err != nil || r.Model != "models/gemini-x" || !r.Settings.AsksJSON() || r.Settings.MaxOutputTokens != 9 {
		t.Fatalf("%+v (%v)", r, err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &body); err != nil || body["model"] != nil || string(body["labels"]) != `{"n":12345678901234567890}` || !strings.Contains(string(r.Body), `"threshold":"OFF"`) {
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

// TestGeminiLineRefused: what the API has not, or a run cannot take along, is named at
// whatever depth.
func TestGeminiLineRefused(t *testing.T) {
	config := func(members string) string { return `"generationConfig":{` + members + `}` }
	for member, want := range map[string]string{
		`"bogus":1`: `field "request.bogus": Gemini's API has no such member here`,
		`"system_instruction":{"parts":[{"txt":"x"}]}`:                                                                          `field "request.system_instruction.parts[0].txt": Gemini's API has no such member here`,
		`"cachedContent":"cachedContents/x"`:                                                                                    `field "request.cachedContent": cannot be sent with a run: a cache belongs to one project`,
		`"tools":[{"functionDeclarations":[{"name":"f","parms":{}}]}]`:                                                          `field "request.tools[0].functionDeclarations[0].parms": Gemini's API has no such member`,
		`"systemInstruction":{"parts":{"fileData":{"fileUri":"photo.png"}}}`:                                                    `field "request.systemInstruction.parts.fileData.fileUri": "photo.png" is no address that Gemini can open`,
		`"systemInstruction":{"parts":{"fileData":{"fileUri":"a","file_uri":"b"}}}`:                                             `field "request.systemInstruction.parts.fileData.file_uri": is there in both spellings`,
		`"systemInstruction":"x"`:                                                                                               `field "request.systemInstruction": want an object, not a string`,
		config(`"maxTokens":5`):                                                                                                 `field "request.generationConfig.maxTokens": Gemini's API has no such member here`,
		config(`"responseLogprobs":true`):                                                                                       `field "request.generationConfig.responseLogprobs": cannot be sent with a run: results have no place for it`,
		config(`"responseSchema":{"type":"OBJECT"}`):                                                                            `field "request.generationConfig.responseSchema": the API takes a schema with JSON only`,
		config(`"responseMimeType":"application/json","responseSchema":{"type":"OB"}`):                                          `field "request.generationConfig.responseSchema.type": cannot be "OB"`,
		config(`"responseMimeType":"application/json","responseSchema":{"properties":{"a":{"$ref":"#"}}}`):                      `field "request.generationConfig.responseSchema.properties.a.$ref": Google's schema has no such member`,
		config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","required":"a"}`):                       `field "request.generationConfig.responseSchema": not a JSON Schema: at '/required'`,
		config(`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"responseJsonSchema":{"type":"null"}`): `field "request.generationConfig.responseSchema": is there beside responseJsonSchema`,
	} {
		line := `{"key":"k","request":{"contents":[{"parts":[{"text":"hi"}]}],` + member + `}}`
		if _, err := Render(lineSpec(LinesGemini), json.RawMessage(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", member, err, want)
		}
	}
	for content, want := range map[string]string{
		`{"role":"assistant","parts":[{"text":"x"}]}`:                                             `field "request.contents[1].role": "assistant" is no role of Gemini's API`,
		`{"role":"system","parts":[{"text":"x"}]}`:                                                `field "request.contents[1].role": the API takes no "system" in contents`,
		`{"role":7,"parts":[{"text":"x"}]}`:                                                       `field "request.contents[1].role": 7 is no role`,
		`{"parts":[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KG go="}}]}`: `field "request.contents[1].parts[1].inlineData.data": is not base64 (character 10)`,
		`{"parts":[{"inline_data":{"mime_type":"image/png","data":"eHh4e"}}]}`:                    `field "request.contents[1].parts[0].inline_data.data": is not base64 (character 6)`,
		`{"parts":[{"inlineData":{"mimeType":"image/png","data":"data:image/png;base64,eA=="}}]}`: `field "request.contents[1].parts[0].inlineData.data": is a data: URI`,
		`{"parts":{"inlineData":{"mimeType":"image/png","data":""}}}`:                             `field "request.contents[1].parts.inlineData.data": is empty`,
		`{"parts":[{"inlineData":{"mimeType":"image/png"}}]}`:                                     `field "request.contents[1].parts[0].inlineData.data": there is none`,
		`{"parts":[{"inlineData":{"mimeType":"image/png","data":[1]}}]}`:                          `field "request.contents[1].parts[0].inlineData.data": want a text, not a list`,
	} {
		line := `{"key":"k","request":{"contents":[{"role":"user","parts":[{"text":"hi"}]},` + content + `]}}`
		if _, err := Render(lineSpec(LinesGemini), json.RawMessage(line)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\n got  %v\n want %s", content, err, want)
		}
	}
	for _, data := range []string{"eA==", "eA", "eHg=", "eHh4", "-_-_", `\/+8=`} { // PHP writes \/
		line := `{"key":"k","request":{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + data + `"}}]}]}}`
		if _, err := Render(lineSpec(LinesGemini), json.RawMessage(line)); err != nil {
			t.Errorf("%s is base64: %v", data, err)
		}
	}
	whole := `{"key":"k","request":{"contents":[{"role":"user","parts":[{"text":"hi"},{"file_data":{"file_uri":"https://x/y","mime_type":"image/png"}},{"inlineData":{"mimeType":"image/png","data":"eA=="},"thoughtSignature":"eA=="}]},
		{"role":"model","parts":[{"functionCall":{"name":"f","args":{"bogus":1}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"bogus":1}}}]}],
		"tools":[{"function_declarations":[{"name":"f","parametersJsonSchema":{"bogus":1}}]},{"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
		"safetySettings":[{"category":"C","threshold":"OFF"}],"generationConfig":{"thinkingConfig":{"thinkingBudget":0},"topK":3,"mediaResolution":"MEDIA_RESOLUTION_LOW"},"labels":{"a":"b"},"serviceTier":"flex"}}`
	if _, err := Render(lineSpec(LinesGemini), json.RawMessage(whole)); err != nil {
		t.Errorf("what the API has: %v", err)
	}
}

// TestGeminiSchema: Google's own form of a schema refuses what the API's answer should
// not be.
func TestGeminiSchema(t *testing.T) {
	line := `{"key":"k","request":{"contents":[{"parts":[{"text":"hi"}]}],"generation_config":{"response_mime_type":"application/json","response_schema":` +
		`{"type":"OBJECT","required":["n","e"],"property_ordering":["n"],"properties":{"n":{"type":"INTEGER","format":"int32","nullable":true,"min_items":"1"},"e":{"type":"INTEGER","enum":["101","201"]},` +
		`"l":{"type":"ARRAY","items":{"anyOf":[{"type":"STRING"}],"nullable":true},"maxItems":"2"}}}}}}`
	r, err := Render(lineSpec(LinesGemini), json.RawMessage(line))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{"e":{"enum":[101,201],"type":"integer"},"l":{"items":{"anyOf":[{"type":"string"},{"type":"null"}]},"maxItems":2,"type":"array"},"n":{"minItems":1,"type":["integer","null"]}},"required":["n","e"],"type":"object"}`
	if got := string(r.Settings.ResponseSchema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(string(r.Body), `"type":"OBJECT"`) {
		t.Errorf("the API is sent another schema than the line's: %s", r.Body)
	}
}

// TestRepeatedIDsOfBadRows: that an id is there twice is said of rows that have
// another fault too.
func TestRepeatedIDsOfBadRows(t *testing.T) {
	const bad, good = `{"key":"a","request":{"contents":[]}}`, `{"key":"a","request":{"contents":[{"parts":[{"text":"x"}]}]}}`
	in := Input{Path: file(t, "b.jsonl", []byte(good+"\n"+bad+"\n"+`{"key":"a"}`+"\n"+good+"\n"))}
	spec := Spec{Kind: Generate, Model: "gemini-x"}
	_, err := Prepare(context.Background(), in, spec, PrepareOptions{})
	if err == nil || strings.Count(err.Error(), "the id was used in line 1 already") != 3 || strings.Count(err.Error(), "\n")+1 != 2*5 {
		t.Errorf("got %v", err)
	}
	left := 0
	p, err := Prepare(context.Background(), Input{Path: file(t, "c.jsonl", []byte(bad+"\n"+good+"\n"))}, spec, PrepareOptions{Invalid: func(InvalidRow) error { left++; return nil }})
	if err != nil || p.Rows != 1 || left != 1 {
		t.Fatalf("a row that is left out takes no id: %v", err)
	}
	_ = p.Close()
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
