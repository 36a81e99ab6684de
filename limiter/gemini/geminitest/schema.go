package geminitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// ordered are the properties in the order in which the model writes them.
func (s *schema) ordered() properties {
	if len(s.PropertyOrdering) == 0 {
		return s.Properties
	}
	rank := func(p property) int {
		if i := slices.Index(s.PropertyOrdering, p.name); i >= 0 {
			return i
		}
		return len(s.PropertyOrdering)
	}
	sorted := slices.Clone(s.Properties)
	slices.SortStableFunc(sorted, func(a, b property) int { return rank(a) - rank(b) })
	return sorted
}

// schemaOf reads a schema once: every row of a run has the same.
func (s *Server) schemaOf(raw json.RawMessage) (*schema, error) {
	const keep = 1000
	s.mu.Lock()
	known, ok := s.schemas[string(raw)]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	parsed := &schema{}
	if err := json.Unmarshal(raw, parsed); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.schemas) < keep {
		s.schemas[string(raw)] = parsed
	}
	return parsed, nil
}

// resolve follows references and takes the first of alternatives. Parts of
// allOf are laid over each other.
func (s *schema) resolve(root *schema) *schema {
	for range 32 { // a reference to itself would go round for ever
		switch {
		case s.Ref != "":
			s = root.find(s.Ref)
		case len(s.AnyOf) > 0:
			s = alternative(s.AnyOf)
		case len(s.OneOf) > 0:
			s = alternative(s.OneOf)
		case len(s.AllOf) > 0:
			s = s.merged(root)
		default:
			return s
		}
	}
	return &schema{}
}

// alternative is the first that is not null.
func alternative(list []*schema) *schema {
	for _, s := range list {
		if len(s.Type) != 1 || s.Type[0] != "null" {
			return s
		}
	}
	return list[0]
}

func (s *schema) merged(root *schema) *schema {
	m := *s
	m.AllOf = nil
	for _, part := range s.AllOf {
		part = part.resolve(root)
		m.Properties = append(slices.Clone(m.Properties), part.Properties...)
		m.Required = append(slices.Clone(m.Required), part.Required...)
		if len(m.Type) == 0 {
			m.Type = part.Type
		}
	}
	return &m
}

func (s *schema) find(ref string) *schema {
	for prefix, defs := range map[string]map[string]*schema{"#/$defs/": s.Defs, "#/definitions/": s.Definitions} {
		if name, ok := strings.CutPrefix(ref, prefix); ok && defs[name] != nil {
			return defs[name]
		}
	}
	if ref == "#" {
		return s
	}
	return &schema{}
}

// kind is the type to write; an untyped schema shows it by what it holds.
func (s *schema) kind() string {
	for _, t := range s.Type {
		if t != "null" && t != "type_unspecified" {
			return t
		}
	}
	switch {
	case len(s.Type) > 0 && s.Type[0] == "null":
		return "null"
	case len(s.Properties) > 0:
		return "object"
	case s.Items != nil:
		return "array"
	}
	return "string"
}
