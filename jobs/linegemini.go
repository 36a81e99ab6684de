package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// geminiRequest takes a line of Gemini's batch file: its request is sent as it
// stands, but for the model, which is in the address
// (https://ai.google.dev/gemini-api/docs/batch-api). What an answer is held against
// is read from it.
func geminiRequest(ms []member) (Request, error) {
	r := Request{Settings: &Settings{}}
	o, err := newLineObject("request", rawOf(ms, "request"))
	if err != nil {
		return r, err
	}
	if err := o.read("model", &r.Model); err != nil {
		return r, err
	}
	var contents []json.RawMessage
	if text := o.members["contents"]; text == nil || json.Unmarshal(text, &contents) != nil || len(contents) == 0 {
		return r, o.wrong("contents", "want a list of contents, and not an empty one", "repair the line: a request of generateContent is wanted")
	}
	if err := o.config(r.Settings); err != nil {
		return r, err
	}
	body, err := json.Marshal(o.members) // sorted, so that the order of members makes no other key
	if err != nil {
		return r, err
	}
	if err := geminiKeys.checkObject(o.at, body); err != nil {
		return r, err
	}
	if err := turnRoles(o.at+".contents", contents); err != nil {
		return r, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, body)
	r.Body = b.Bytes()
	return r, err
}

// turnRoles wants roles that the API knows, which are not those of other providers.
func turnRoles(at string, contents []json.RawMessage) error {
	for i, one := range contents {
		o, err := newLineObject(fmt.Sprintf("%s[%d]", at, i), one)
		if err != nil {
			return err
		}
		text := o.take("role")
		switch role := string(text); {
		case text == nil, slices.Contains([]string{`""`, `"user"`, `"model"`, `"function"`}, role):
		case role == `"system"`:
			return o.wrong("role", `the API takes no "system" in contents`, "put the text into request.systemInstruction")
		default:
			return o.wrong("role", short(text)+" is no role of Gemini's API", "want user, or model for what the model said")
		}
	}
	return nil
}

// config reads what results depend upon, in either of proto's spellings.
func (o lineObject) config(s *Settings) error {
	name := "generationConfig"
	if o.members[name] == nil {
		name = "generation_config"
	}
	if o.members[name] == nil {
		return nil
	}
	c, err := newLineObject(o.at+"."+name, o.members[name])
	if err != nil {
		return err
	}
	for spelled, v := range c.members {
		if camel := camelCase(spelled); camel != spelled {
			c.members[camel] = v
		}
	}
	return firstOf(
		func() error { return c.one("candidateCount", "1", "a row has one answer") },
		func() error { return c.one("responseModalities", `["TEXT"]`, "results have text only") },
		func() error { return c.read("maxOutputTokens", &s.MaxOutputTokens) },
		func() error { return c.read("temperature", &s.Temperature) },
		func() error { return c.read("responseMimeType", &s.ResponseMIMEType) },
		func() error { return c.schema(s) },
	)
}

// one wants a member to have the value that results can carry.
func (o lineObject) one(name, value, why string) error {
	text := o.take(name)
	if text == nil || strings.EqualFold(short(text), value) {
		return nil
	}
	return o.wrong(name, short(text)+": "+why, "want "+value+", or leave it out")
}

// schema is what answers are held against, in either of the API's forms.
func (o lineObject) schema(s *Settings) (err error) {
	whole, own := o.take("responseJsonSchema"), o.take("responseSchema")
	name, text := "responseJsonSchema", whole
	switch {
	case whole != nil && own != nil:
		return o.wrong("responseSchema", "is there beside responseJsonSchema", "take one of them out")
	case own != nil:
		name = "responseSchema"
		text, err = googleAsJSON(o.at+"."+name, own)
	}
	if err != nil || text == nil {
		return err
	}
	if err := CheckSchema(text); err != nil {
		return o.wrong(name, err.Error(), "repair the schema")
	}
	switch s.ResponseMIMEType {
	case "application/json":
		s.ResponseSchema = text
	case "text/x.enum": // its answer is no JSON: the API holds it against the values
	default:
		return o.wrong(name, "the API takes a schema with JSON only", `add "responseMimeType": "application/json" beside it`)
	}
	return nil
}

func googleAsJSON(at string, text []byte) (json.RawMessage, error) {
	s, err := googleSchema(at, text)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(s)
	return b, err
}

func camelCase(snake string) string {
	parts := strings.Split(snake, "_")
	for i := 1; i < len(parts); i++ {
		if r := []rune(parts[i]); len(r) > 0 {
			r[0] = unicode.ToUpper(r[0])
			parts[i] = string(r)
		}
	}
	return strings.Join(parts, "")
}
