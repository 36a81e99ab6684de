package jobs

import (
	"encoding/json"
	"strings"
)

// The ways of OpenAI's API that a line may name
// (https://platform.openai.com/docs/api-reference/batch/request-input).
const (
	chatURL       = "/v1/chat/completions"
	embeddingsURL = "/v1/embeddings"
)

// openAIRequest turns a line of OpenAI's batch file into a request.
func openAIRequest(ms []member, kind Kind) (Request, error) {
	line := lineObject{members: map[string]json.RawMessage{"method": rawOf(ms, "method"), "url": rawOf(ms, "url")}}
	method, url := "POST", chatURL
	if line.read("method", &method) != nil || method != "POST" {
		return Request{}, &Problem{Field: "method", What: "requests are sent with POST only", Remedy: "repair the line"}
	}
	if err := line.read("url", &url); err != nil {
		return Request{}, &Problem{Field: "url", What: "want a text", Remedy: "repair the line"}
	}
	if err := checkURL(url, kind); err != nil {
		return Request{}, err
	}
	body, err := newLineObject("body", rawOf(ms, "body"))
	if err != nil {
		return Request{}, err
	}
	r := Request{Settings: &Settings{}}
	if err := body.read("model", &r.Model); err != nil {
		return r, err
	}
	for _, name := range []string{"user", "metadata", "store", "safety_identifier", "prompt_cache_key"} {
		body.take(name) // they change no answer
	}
	if kind == Embed {
		return r, body.embedding(&r)
	}
	return r, body.chat(&r)
}

func checkURL(url string, kind Kind) error {
	switch {
	case url == chatURL && kind != Embed, url == embeddingsURL && kind == Embed:
		return nil
	case url == embeddingsURL:
		return &Problem{Field: "url", What: "the line asks for an embedding, the run for text", Remedy: "give --kind embed"}
	case url == chatURL:
		return &Problem{Field: "url", What: "the line asks for text, the run for embeddings", Remedy: "leave --kind embed out"}
	}
	return &Problem{Field: "url", What: "no such way to Gemini: " + url[:min(len(url), 80)], Remedy: "nightshift takes " + chatURL + " and " + embeddingsURL}
}

// embedding reads {"input", "dimensions"}.
func (o lineObject) embedding(r *Request) error {
	input := o.take("input")
	var list []string
	if json.Unmarshal(input, &r.Prompt) != nil && (json.Unmarshal(input, &list) != nil || len(list) != 1) {
		return o.wrong("input", "want one text", "give each text a line of its own")
	}
	if len(list) == 1 {
		r.Prompt = list[0]
	}
	return firstOf(
		func() error { return o.read("dimensions", &r.Settings.Dimensions) },
		func() error { return o.must("encoding_format", `"float"`) },
		o.rest,
	)
}

// chat reads the body of a chat completion.
func (o lineObject) chat(r *Request) error {
	s := r.Settings
	return firstOf(
		func() error { return o.messages(r) },
		func() error { return o.limits(s) },
		func() error { return o.read("temperature", &s.Temperature) },
		func() error { return o.read("top_p", &s.TopP) },
		func() error { return o.read("seed", &s.Seed) },
		func() error { return o.read("presence_penalty", &s.PresencePenalty) },
		func() error { return o.read("frequency_penalty", &s.FrequencyPenalty) },
		func() error { return o.stop(s) },
		func() error { return o.format(s) },
		func() error { return o.must("n", "1") },
		func() error { return o.must("stream", "false") },
		func() error { return o.must("logprobs", "false") },
		func() error { return o.must("modalities", `["text"]`) },
		func() error { return o.must("service_tier", `"auto"`, `"default"`) },
		o.rest,
	)
}

func firstOf(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (o lineObject) limits(s *Settings) error {
	var old int32
	if err := o.read("max_tokens", &old); err != nil {
		return err
	}
	if err := o.read("max_completion_tokens", &s.MaxOutputTokens); err != nil {
		return err
	}
	switch {
	case old < 0 || s.MaxOutputTokens < 0:
		return o.wrong("max_tokens", "is below zero", "repair the line")
	case old > 0 && s.MaxOutputTokens > 0 && old != s.MaxOutputTokens:
		return o.wrong("max_tokens", "is another than max_completion_tokens", "give one of them")
	case old > 0:
		s.MaxOutputTokens = old
	}
	return nil
}

// stop is one text or a list of them.
func (o lineObject) stop(s *Settings) error {
	text := o.take("stop")
	var one string
	switch {
	case text == nil:
	case json.Unmarshal(text, &one) == nil:
		s.StopSequences = []string{one}
	case json.Unmarshal(text, &s.StopSequences) != nil:
		return o.wrong("stop", "want a text or a list of texts", "repair the line")
	}
	return nil
}

// format reads {"type": "json_schema", "json_schema": {"schema": …}}.
func (o lineObject) format(s *Settings) error {
	text := o.take("response_format")
	if text == nil {
		return nil
	}
	var f struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if json.Unmarshal(text, &f) != nil {
		return o.wrong("response_format", "want an object", "repair the line")
	}
	switch f.Type {
	case "text":
		return nil
	case "json_object":
	case "json_schema":
		if err := CheckSchema(f.Schema.Schema); err != nil {
			return o.wrong("response_format", "json_schema.schema: "+err.Error(), "repair the schema")
		}
		s.ResponseSchema = f.Schema.Schema
	default:
		return o.wrong("response_format", short(text)+" has no equivalent in Gemini's API", "want text, json_object or json_schema")
	}
	s.ResponseMIMEType = "application/json"
	return nil
}

// systemRoles are what goes into the system instruction.
func systemRole(role string) bool { return role == "system" || strings.EqualFold(role, "developer") }
