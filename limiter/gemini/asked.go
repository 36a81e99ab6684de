package gemini

import (
	"encoding/json"
	"slices"
	"strings"
)

// asked is what of a request bears on which other answers it may get.
type asked struct {
	top, config map[string]json.RawMessage
}

// askedOf reads a request's body; of one that is no object nothing is known.
func askedOf(body []byte) asked {
	var a asked
	if json.Unmarshal(body, &a.top) == nil {
		_ = json.Unmarshal(member(a.top, "generationConfig"), &a.config) // absent: all defaults
	}
	return a
}

// member gives a field by either of proto's spellings; nil when it is absent.
func member(m map[string]json.RawMessage, name string) json.RawMessage {
	if v, ok := m[name]; ok {
		return v
	}
	return m[snakeCase(name)]
}

// has is false for what is absent, null or empty.
func has(m map[string]json.RawMessage, name string) bool {
	switch v := strings.TrimSpace(string(member(m, name))); v {
	case "", "null", "[]", "{}", `""`:
		return false
	}
	return true
}

// schema says that the answer has to keep to one.
func (a asked) schema() bool {
	return has(a.config, "responseSchema") || has(a.config, "responseJsonSchema") || has(a.config, "_responseJsonSchema")
}

// json says that the answer has to be JSON.
func (a asked) json() bool {
	var mime string
	_ = json.Unmarshal(member(a.config, "responseMimeType"), &mime)
	return a.schema() || strings.HasPrefix(strings.ToLower(mime), "application/json")
}

// takesText says that a text may be the answer: not of one that must be an
// image, a sound or a call of a function, and JSON where that is asked for.
func (a asked) takesText(text string) bool {
	var modalities []string
	_ = json.Unmarshal(member(a.config, "responseModalities"), &modalities)
	if len(modalities) > 0 && !slices.ContainsFunc(modalities, func(m string) bool { return strings.EqualFold(m, "TEXT") }) {
		return false
	}
	return !a.mustCall() && (!a.json() || json.Valid([]byte(text)))
}

// mustCall says that nothing but a call of a function is an answer.
func (a asked) mustCall() bool {
	var tool, calling map[string]json.RawMessage
	_ = json.Unmarshal(member(a.top, "toolConfig"), &tool)
	_ = json.Unmarshal(member(tool, "functionCallingConfig"), &calling)
	var mode string
	_ = json.Unmarshal(calling["mode"], &mode)
	return strings.EqualFold(mode, "ANY")
}

// text is the last content's text, which is what a person has just written.
func (a asked) text() string {
	var contents []struct{ Parts []struct{ Text string } }
	if json.Unmarshal(a.top["contents"], &contents) != nil || len(contents) == 0 {
		return ""
	}
	var texts []string
	for _, p := range contents[len(contents)-1].Parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
