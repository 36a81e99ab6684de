package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schema is what the simulation understands of Gemini's Schema and of JSON
// Schema. What it does not know it leaves aside.
type schema struct {
	Type             types              `json:"type"`
	Format           string             `json:"format"`
	Enum             []json.RawMessage  `json:"enum"`
	Const            json.RawMessage    `json:"const"`
	Properties       properties         `json:"properties"`
	PropertyOrdering []string           `json:"propertyOrdering"`
	Required         []string           `json:"required"`
	Items            *schema            `json:"items"`
	PrefixItems      []*schema          `json:"prefixItems"`
	MinItems         flexInt            `json:"minItems"`
	MaxItems         *flexInt           `json:"maxItems"`
	UniqueItems      bool               `json:"uniqueItems"`
	Minimum          *float64           `json:"minimum"`
	Maximum          *float64           `json:"maximum"`
	ExclusiveMinimum *float64           `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64           `json:"exclusiveMaximum"`
	MultipleOf       float64            `json:"multipleOf"`
	MinLength        flexInt            `json:"minLength"`
	MaxLength        *flexInt           `json:"maxLength"`
	Pattern          string             `json:"pattern"`
	AnyOf            []*schema          `json:"anyOf"`
	OneOf            []*schema          `json:"oneOf"`
	AllOf            []*schema          `json:"allOf"`
	Ref              string             `json:"$ref"`
	Defs             map[string]*schema `json:"$defs"`
	Definitions      map[string]*schema `json:"definitions"`
	Nullable         bool               `json:"nullable"`
}

// types is one name or several, in either case: STRING, "string", ["string","null"].
type types []string

// UnmarshalJSON reads one name or a list.
func (t *types) UnmarshalJSON(b []byte) error {
	var many []string
	if json.Unmarshal(b, &many) != nil {
		var one string
		if err := json.Unmarshal(b, &one); err != nil {
			return err
		}
		many = []string{one}
	}
	*t = nil
	for _, name := range many {
		*t = append(*t, strings.ToLower(name))
	}
	return nil
}

// flexInt is an int64, which protobuf's JSON writes as a string.
type flexInt int64

// UnmarshalJSON takes 3 and "3".
func (n *flexInt) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(bytes.Trim(b, `"`), (*int64)(n))
}

// properties keep the order in which they are written.
type properties []property

type property struct {
	name   string
	schema *schema
}

// UnmarshalJSON reads an object.
func (p *properties) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("properties are no object: %s", b)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		s := &schema{}
		if err := d.Decode(s); err != nil {
			return err
		}
		*p = append(*p, property{name.(string), s})
	}
	return nil
}

// UnmarshalJSON takes true and false, which JSON Schema allows for a schema.
func (s *schema) UnmarshalJSON(b []byte) error {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] != '{' {
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}
