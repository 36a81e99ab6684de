package jobs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestBadSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"objekt"}`: "not a JSON Schema: at '/type': value must be one of 'array', ",
		`{"type":"object","properties":{"a":{"type":"strin"}}}`: "at '/properties/a/type': value must be one of",
		`{"type":"string","pattern":"("}`:                       "at '/pattern': '(' is not valid regex",
		`{"minLength":"3"}`:                                     "at '/minLength': got string, want integer",
		`{"$ref":"#/nope"}`:                                     `$ref "#/nope": there is nothing at that place`,
		`{"$ref":"https://example.com/x"}`:                      "it refers to https://example.com/x: only what is in the schema itself",
		`{"$ref":"other.json"}`:                                 "other.json: only what is in the schema itself",
		`[]`:                                                    "a JSON Schema is an object",
		`"x"`:                                                   "a JSON Schema is an object",
		`true`:                                                  "a JSON Schema is an object",
		`{`:                                                     "not JSON",
	} {
		err := CheckSchema(json.RawMessage(schema))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "file:") {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
		spec := specOf("{{.text}}")
		spec.Settings.ResponseSchema = json.RawMessage(schema)
		if _, err := Prepare(context.Background(), Input{Path: file(t, "r.csv", []byte("id,text\na,x\n"))}, spec, PrepareOptions{}); err == nil {
			t.Errorf("%s: Prepare took it", schema)
		}
	}
}

func TestGoodSchemas(t *testing.T) {
	for _, schema := range []string{
		`{}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["string","null"]}},"required":["a"]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"array","items":{"type":"number"}}`,
	} {
		if err := CheckSchema(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
