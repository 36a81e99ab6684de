package jobs

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// googleSchema is Google's own form of a schema, which is OpenAPI's with types in
// capitals (https://ai.google.dev/api/caching#Schema), as the JSON Schema that says
// the same: answers are held against that.
func googleSchema(at string, text json.RawMessage) (map[string]any, error) {
	o, err := newLineObject(at, text)
	if err != nil {
		return nil, err
	}
	if name := o.twice(); name != "" {
		return nil, o.wrong(name, "is there in both spellings", "take one of them out")
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if err := o.keyword(out, name); err != nil {
			return nil, err
		}
	}
	mayBeNull(out)
	return out, nil
}

// keyword puts one of Google's keywords into the JSON Schema.
func (o lineObject) keyword(out map[string]any, name string) (err error) {
	text := o.members[name]
	switch key := camelCase(name); key {
	case "title", "description", "default", "example", "format", "propertyOrdering": // they refuse no answer
		return nil
	case "type":
		return o.schemaType(out)
	case "nullable", "required", "minimum", "maximum":
		out[key] = text
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
		n := json.RawMessage(strings.Trim(string(text), `"`)) // proto writes 64 bits as a text
		if !json.Valid(n) {
			return o.wrong(name, "want a number, not "+short(text), "repair the schema")
		}
		out[key] = n
	case "pattern":
		var p string
		if json.Unmarshal(text, &p) != nil {
			return o.wrong(name, "want a text", "repair the schema")
		}
		if _, err := regexp.Compile(p); err == nil { // others are left to the API
			out[key] = p
		}
	case "enum":
		return o.schemaEnum(out)
	case "items":
		out[key], err = googleSchema(o.at+"."+name, text)
	case "properties":
		out[key], err = googleProperties(o.at+"."+name, text)
	case "anyOf":
		out[key], err = googleSchemas(o.at+"."+name, text)
	default:
		return o.wrong(name, "Google's schema has no such member", "correct its name, or give the schema as responseJsonSchema, which takes all of JSON Schema")
	}
	return err
}

func googleProperties(at string, text json.RawMessage) (map[string]any, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil, &Problem{Field: at, What: "want an object, not " + kindOfRaw(text), Remedy: "repair the schema"}
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s, err := googleSchema(at+"."+name, all[name])
		if err != nil {
			return nil, err
		}
		out[name] = s
	}
	return out, nil
}

func googleSchemas(at string, text json.RawMessage) (out []any, err error) {
	var all []json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil, &Problem{Field: at, What: "want a list, not " + kindOfRaw(text), Remedy: "repair the schema"}
	}
	for i, one := range all {
		s, err := googleSchema(fmt.Sprintf("%s[%d]", at, i), one)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (o lineObject) schemaType(out map[string]any) error {
	var name string
	_ = json.Unmarshal(o.members["type"], &name)
	switch lower := strings.ToLower(name); lower {
	case "string", "number", "integer", "boolean", "array", "object", "null":
		out["type"] = lower
		return nil
	case "type_unspecified":
		return nil
	}
	return o.wrong("type", "cannot be "+short(o.members["type"]), "want STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT or NULL")
}

// schemaEnum takes values, which Google writes as texts, numbers too.
func (o lineObject) schemaEnum(out map[string]any) error {
	var texts []string
	if json.Unmarshal(o.members["enum"], &texts) != nil {
		return o.wrong("enum", "want a list of texts", `write numbers as texts too: ["101", "201"]`)
	}
	var kind string
	_ = json.Unmarshal(o.members["type"], &kind)
	values := make([]any, len(texts))
	for i, t := range texts {
		values[i] = t
		if n := json.Number(t); (strings.EqualFold(kind, "integer") || strings.EqualFold(kind, "number")) && json.Valid([]byte(t)) {
			values[i] = n
		}
	}
	out["enum"] = values
	return nil
}

// mayBeNull is Google's nullable, which JSON Schema says with types and values.
func mayBeNull(s map[string]any) {
	is, _ := s["nullable"].(json.RawMessage)
	delete(s, "nullable")
	if string(is) != "true" {
		return
	}
	if t, ok := s["type"].(string); ok {
		s["type"] = []string{t, "null"}
	}
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = append(values, nil)
	}
	if forms, ok := s["anyOf"].([]any); ok {
		s["anyOf"] = append(forms, map[string]string{"type": "null"})
	}
}
