package geminitest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/genai"

	"nightshift/limiter/gemini/geminitest"
)

// schemas are JSON Schemas whose answers an independent validator judges.
var schemas = map[string]string{
	"tags": `{"type":"object","properties":{"id":{"type":"string"},"tags":{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":5,"uniqueItems":true},
		"sentiment":{"type":"string","enum":["positive","neutral","negative"]},"confidence":{"type":"number","minimum":0,"maximum":1},
		"reviewed":{"type":"boolean"}},"required":["tags","sentiment"],"additionalProperties":false}`,
	"nested": `{"type":"object","required":["product"],"properties":{"product":{"type":"object","required":["name","prices","dims"],"properties":{
		"name":{"type":"string","maxLength":12},"prices":{"type":"array","minItems":1,"items":{"type":"object","required":["currency","amount"],
		"properties":{"currency":{"const":"EUR"},"amount":{"type":"integer","minimum":10,"multipleOf":5}}}},
		"dims":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":2,"maxItems":2}}}}}`,
	"formats": `{"type":"object","required":["at","day","mail","link","code","plate","note"],"properties":{"at":{"type":"string","format":"date-time"},
		"day":{"type":"string","format":"date"},"mail":{"type":"string","format":"email"},"link":{"type":"string","format":"uri"},
		"code":{"type":"string","format":"uuid"},"plate":{"type":"string","pattern":"^[A-Z]{2}-\\d{3,4}(x|y)?$"},"note":{"type":"string","minLength":80,"maxLength":90}}}`,
	"choice": `{"anyOf":[{"type":"null"},{"$ref":"#/$defs/leaf"}],"$defs":{"leaf":{"type":"object","required":["value"],"properties":{
		"value":{"type":["null","integer"],"exclusiveMinimum":3,"exclusiveMaximum":6}}}}}`,
	"recursive": `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["name","children"],"properties":{
		"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`,
	"all":   `{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}},{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}}]}`,
	"array": `{"type":"array","minItems":4,"maxItems":4,"items":{"type":"number","minimum":-2.5,"maximum":-1.5}}`,
	"bare":  `{}`,
}

func TestAnswersFitTheirSchema(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	for name, text := range schemas {
		t.Run(name, func(t *testing.T) {
			judge := compile(t, text)
			for i := range 40 {
				prompt := fmt.Sprintf("Tag this review.\nid: r-%d\nThe walnut desk arrived scratched, but support was friendly.", i)
				answer := structured(t, s, prompt, text)
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
				if err != nil {
					t.Fatalf("%s: %v", answer, err)
				}
				if err := judge.Validate(v); err != nil {
					t.Fatalf("%s: %v", answer, err)
				}
				if again := structured(t, s, prompt, text); again != answer {
					t.Errorf("the same prompt gave %s and %s", answer, again)
				}
			}
		})
	}
}

func compile(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("test.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func structured(t *testing.T, s *geminitest.Server, prompt, schema string) string {
	t.Helper()
	var flat bytes.Buffer
	if err := json.Compact(&flat, []byte(schema)); err != nil {
		t.Fatal(err)
	}
	q, _ := json.Marshal(prompt)
	body := fmt.Sprintf(`{"contents":[{"parts":[{"text":%s}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":%s}}`, q, flat.String())
	a := post(t.Context(), s, model+":generateContent", body)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return decode(a).Candidates[0].Content.Parts[0].Text
}

// The SDK's own schema type, in its order, with the id of the prompt.
func TestSDKSchema(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	c := sdk(t, "http://gemini.invalid", s)
	three := int64(3)
	resp, err := c.Models.GenerateContent(t.Context(), model, genai.Text("id: shop-9\nThe walnut desk is loved in Kyoto."), &genai.GenerateContentConfig{
		ResponseMIMEType: "application/json",
		ResponseSchema: &genai.Schema{
			Type: genai.TypeObject, PropertyOrdering: []string{"id", "tags", "mood"}, Required: []string{"id", "tags", "mood"},
			Properties: map[string]*genai.Schema{
				"mood": {Type: genai.TypeString, Enum: []string{"loved", "hated"}},
				"tags": {Type: genai.TypeArray, MinItems: &three, MaxItems: &three, Items: &genai.Schema{Type: genai.TypeString}},
				"id":   {Type: genai.TypeString},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"shop-9","tags":["walnut","desk","loved"],"mood":"loved"}`; resp.Text() != want {
		t.Errorf("answer = %s, want %s", resp.Text(), want)
	}
}

func TestPlainAnswers(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	ask := func(prompt string) string {
		a := generate(t.Context(), s, prompt)
		return decode(a).Candidates[0].Content.Parts[0].Text
	}
	const row = "\nid: sku-12\nHandmade walnut desk with brass drawers"
	for prompt, mark := range map[string]string{
		"Rewrite in Japanese." + row: "［模擬］sku-12: ", "Rewrite in French." + row: "[simulé] sku-12: ",
		"Rewrite.\nlang: de" + row: "[simuliert] sku-12: ", "Rewrite. Not in German.\n{\"language\": \"ko\"}" + row: "[모의] sku-12: ",
		"Rewrite." + row: "[simulated] sku-12: ",
	} {
		text := ask(prompt)
		if !strings.HasPrefix(text, mark) || !strings.Contains(strings.ToLower(text), "walnut") && !strings.Contains(text, "brass") {
			t.Errorf("%q gave %q", prompt, text)
		}
		if ask(prompt) != text {
			t.Errorf("%q gives different answers", prompt)
		}
	}
}

func TestLimitsOfTheAnswer(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Models: []geminitest.Model{
		{Name: model, AnswerTokens: 80}, {Name: "thinker", ThinkingTokens: 100},
	}})
	c := sdk(t, "http://gemini.invalid", s)
	prompt := genai.Text("Describe the walnut desk.")
	ask := func(model string, cfg *genai.GenerateContentConfig) *genai.GenerateContentResponse {
		resp, err := c.Models.GenerateContent(t.Context(), model, prompt, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	whole := ask(model, nil)
	cut := ask(model, &genai.GenerateContentConfig{MaxOutputTokens: 20})
	if cut.Candidates[0].FinishReason != genai.FinishReasonMaxTokens || cut.UsageMetadata.CandidatesTokenCount != 20 || !strings.HasPrefix(whole.Text(), cut.Text()) {
		t.Errorf("cut = %q (%+v) of %q", cut.Text(), cut.UsageMetadata, whole.Text())
	}
	if n := whole.UsageMetadata.CandidatesTokenCount; n < 80 || n > 130 {
		t.Errorf("answer of %d tokens, want a little over 80", n)
	}
	none := ask("thinker", &genai.GenerateContentConfig{MaxOutputTokens: 10})
	if u := none.UsageMetadata; none.Text() != "" || u.ThoughtsTokenCount != 10 || none.Candidates[0].FinishReason != genai.FinishReasonMaxTokens {
		t.Errorf("all thoughts: %q %+v", none.Text(), u)
	}
	off := int32(0)
	if u := ask("thinker", &genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingBudget: &off}}).UsageMetadata; u.ThoughtsTokenCount != 0 {
		t.Errorf("budget 0 thought %d tokens", u.ThoughtsTokenCount)
	}
	shown := ask("thinker", &genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true}})
	if parts := shown.Candidates[0].Content.Parts; len(parts) != 2 || !parts[0].Thought || parts[1].Thought {
		t.Errorf("parts = %+v", parts)
	}
	three := ask(model, &genai.GenerateContentConfig{CandidateCount: 3})
	if len(three.Candidates) != 3 || three.Candidates[0].Content.Parts[0].Text == three.Candidates[1].Content.Parts[0].Text {
		t.Errorf("candidates = %d, or alike", len(three.Candidates))
	}
}

func TestImplicitCaching(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	c := sdk(t, "http://gemini.invalid", s)
	system := genai.NewContentFromText(strings.Repeat("You know every desk by heart. ", 1000), "")
	ask := func(prompt string) *genai.GenerateContentResponseUsageMetadata {
		resp, err := c.Models.GenerateContent(t.Context(), model, genai.Text(prompt), &genai.GenerateContentConfig{SystemInstruction: system})
		if err != nil {
			t.Fatal(err)
		}
		return resp.UsageMetadata
	}
	if u := ask("one"); u.CachedContentTokenCount != 0 || u.PromptTokenCount != 7001 {
		t.Errorf("first call: %+v", u)
	}
	if u := ask("two"); u.CachedContentTokenCount < 6000 || u.CachedContentTokenCount > 7000 {
		t.Errorf("second call: cached %d of %d", u.CachedContentTokenCount, u.PromptTokenCount)
	}
	calls := s.Calls()
	if calls[1].MicroUSD >= calls[0].MicroUSD/2 {
		t.Errorf("the second call costs %d, the first %d", calls[1].MicroUSD, calls[0].MicroUSD)
	}
}

func TestRequestSpellings(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	for body, want := range map[string]string{
		`{"contents":{"parts":{"text":"hello"}},"system_instruction":{"parts":[{"text":"be brief"}]},"generation_config":{"max_output_tokens":4}}`: `"finishReason":"MAX_TOKENS"`,
		`{"contents":[{"parts":[{"text":"a \\ud83d b"}]}]}`:           `"finishReason":"STOP"`,
		`{"contents":[{"parts":[{"text":"\ud83d\ude00"}]}]}`:          `"finishReason":"STOP"`,
		`{"contents":[{"parts":[{"text":"\ud83d lone"}]}]}`:           "Unpaired",
		`{"contents":[{"parts":[{"text":"lone \uDE00"}]}]}`:           "Unpaired",
		`{"contents":[{"parts":[{"text":"x"}]}],"enable_thinking":1}`: `Unknown name \"enable_thinking\": Cannot find field.`,
		`{"contents":[{"parts":[{"text":"x"}]}`:                       "Invalid JSON payload",
		`{"contents":[]}`:                                             "contents is not specified",
		"{\"contents\":[{\"parts\":[{\"text\":\"\xff\"}]}]}":          "Invalid UTF-8",
	} {
		if a := post(t.Context(), s, model+":generateContent", body); !strings.Contains(a.body, want) {
			t.Errorf("%s gave %d %s, want %q", body, a.status, a.body, want)
		}
	}
}

func TestKeysAndPaths(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{Keys: []string{"good"}})
	if a := post(t.Context(), s, model+":generateContent?key=good", hello, "X-Goog-Api-Key", ""); a.status != 200 {
		t.Errorf("key in the query: %d", a.status)
	}
	if a := post(t.Context(), s, model+":generateContent", hello, "X-Goog-Api-Key", "", "Authorization", "Bearer good"); a.status != 200 {
		t.Errorf("bearer: %d", a.status)
	}
	if a := post(t.Context(), s, model+":generateContent", hello, "X-Goog-Api-Key", ""); a.status != 403 {
		t.Errorf("no key: %d", a.status)
	}
	if a := post(t.Context(), s, model+":generateContent", hello, "X-Goog-Api-Key", "bad"); a.status != 400 || !strings.Contains(a.body, "API_KEY_INVALID") {
		t.Errorf("bad key: %d", a.status)
	}
	for _, path := range []string{model + ":tuneModel", "../files", model + "/x:generateContent"} {
		if a := post(t.Context(), s, path, hello); a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := post(t.Context(), s, "gemini-embedding-001:generateContent", hello); a.status != 404 {
		t.Errorf("generate on an embedding model: %d", a.status)
	}
	if a := post(t.Context(), s, model+":generateContent", hello, "X-Server-Timeout", "9"); a.status != 400 || !strings.Contains(a.body, "Minimum allowed deadline is 10s.") {
		t.Errorf("deadline of 9 s: %d %s", a.status, a.body)
	}
}
