package geminitest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"nightshift/limiter/gemini/geminitest"
)

const (
	thermostat = `{"type":"object","properties":{"room":{"type":"string","enum":["kitchen","bedroom"]},"degrees":{"type":"number","minimum":15,"maximum":25}},"required":["room","degrees"]}`
	weather    = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
)

// called asks with two functions, in the mode, and gives what the model called and said.
func called(t *testing.T, s *geminitest.Server, method, prompt, more string) (calls []genai.FunctionCall, text string) {
	t.Helper()
	body := fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}%s,"tools":[{"function_declarations":[
		{"name":"get_weather","description":"The weather in a city","parameters":%s},
		{"name":"set_thermostat","description":"Sets the heating of a room","parameters_json_schema":%s}]}]}`, prompt, more, weather, thermostat)
	a := post(t.Context(), s, model+":"+method, body)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for data := range strings.SplitSeq(strings.TrimSpace(string(a.body)), "\r\n\r\n") {
		var r genai.GenerateContentResponse
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &r); err != nil {
			t.Fatalf("%v in %s", err, a.body)
		}
		for _, p := range r.Candidates[0].Content.Parts {
			text += p.Text
			if p.FunctionCall != nil {
				calls = append(calls, *p.FunctionCall)
			}
		}
	}
	return calls, text
}

// A function that suits the prompt is called with arguments that fit its
// schema, unary and in a stream, and always with the same.
func TestFunctionIsCalled(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	judge := compile(t, thermostat)
	for i := range 20 {
		prompt := fmt.Sprintf("Make the heating in the kitchen warmer, household %d.", i)
		calls, text := called(t, s, "generateContent", prompt, "]")
		if len(calls) != 1 || calls[0].Name != "set_thermostat" || text != "" {
			t.Fatalf("%q: called %v, said %q", prompt, calls, text)
		}
		if err := judge.Validate(calls[0].Args); err != nil || calls[0].Args["room"] != "kitchen" {
			t.Errorf("%v: %v", calls[0].Args, err)
		}
		streamed, _ := called(t, s, "streamGenerateContent?alt=sse", prompt, "]")
		if len(streamed) != 1 || fmt.Sprint(streamed[0].Args) != fmt.Sprint(calls[0].Args) {
			t.Errorf("unary %v, streamed %v", calls, streamed)
		}
	}
}

// The mode decides whether a function may, must or must not be called, and a
// function's answer is put into words.
func TestFunctionModes(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	const heat, chat = "Make the heating in the kitchen warmer.", "Tell me a joke."
	const answered = `,{"role":"model","parts":[{"functionCall":{"name":"set_thermostat","args":{"room":"kitchen"}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"set_thermostat","response":{"ok":true}}}]}]`
	mode := func(s string) string { return `],"toolConfig":{"functionCallingConfig":{` + s + `}}` }
	for _, c := range []struct{ prompt, more, want string }{
		{heat, "]", "set_thermostat"},
		{chat, "]", ""},
		{heat, answered, ""},
		{heat, mode(`"mode":"NONE"`), ""},
		{heat, mode(`"mode":"AUTO"`), "set_thermostat"},
		{chat, mode(`"mode":"ANY"`), "get_weather"},
		{heat, mode(`"mode":"ANY","allowed_function_names":["get_weather"]`), "get_weather"},
	} {
		calls, text := called(t, s, "generateContent", c.prompt, c.more)
		var names []string
		for _, call := range calls {
			names = append(names, call.Name)
		}
		if !slices.Equal(names, strings.Fields(c.want)) || (text == "") != (c.want != "") {
			t.Errorf("%s %s: called %v, said %q; want a call of %q", c.prompt, c.more, names, text, c.want)
		}
	}
	a := post(t.Context(), s, model+":generateContent", `{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`)
	if a.status != 400 || !strings.Contains(string(a.body), "without function_declarations") {
		t.Errorf("a mode without functions: %d %s", a.status, a.body)
	}
}

// Bytes may come in the alphabet of base64 for URLs, as the Python SDK sends them.
func TestURLBase64(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	for _, data := range []string{"+/+/", "-_-_", "-_8=", "-_8"} {
		a := post(t.Context(), s, model+":countTokens", fmt.Sprintf(`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":%q}}]}]}`, data))
		if a.status != 200 || !strings.Contains(a.body, `"totalTokens":258`) {
			t.Errorf("%s: %d %s", data, a.status, a.body)
		}
	}
}

// A schema spelled as the Python SDK spells it, snake_case to its depths, is
// understood, and the names of its properties are left alone.
func TestSnakeSchema(t *testing.T) {
	s := geminitest.MustNew(geminitest.Config{})
	a := post(t.Context(), s, model+":generateContent", `{"contents":[{"parts":[{"text":"id: r-1\nThe walnut desk."}]}],"generation_config":{
		"response_mime_type":"application/json","response_schema":{"type":"OBJECT","property_ordering":["shop_tags","default"],"properties":{
		"default":{"type":"STRING","enum":["x"]},"shop_tags":{"type":"ARRAY","min_items":5,"max_items":5,"items":{"type":"STRING"}}}}}}`)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	text := decode(a).Candidates[0].Content.Parts[0].Text
	var got struct {
		Tags []string `json:"shop_tags"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Tags) != 5 || !strings.HasPrefix(text, `{"shop_tags":`) || !strings.HasSuffix(text, `"default":"x"}`) {
		t.Errorf("%s, %v", text, err)
	}
}
