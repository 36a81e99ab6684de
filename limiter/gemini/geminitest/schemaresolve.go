package geminitest

import (
	"encoding/json"
	"slices"
	"strings"
)

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
