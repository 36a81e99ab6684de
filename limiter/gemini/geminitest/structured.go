package geminitest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// writer writes a value that is valid against a schema.
type writer struct {
	*author
	root *schema
	out  bytes.Buffer
}

// fromSchema writes the answer that a schema asks for; for text/x.enum, the
// bare word. A schema that cannot be read gives an empty object.
func (a *author) fromSchema(raw json.RawMessage) string {
	root, err := a.s.schemaOf(raw)
	if err != nil {
		return "{}"
	}
	w := &writer{author: a, root: root}
	w.value("", root, 0)
	if a.config.ResponseMIMEType == mimeEnum {
		var word string
		if json.Unmarshal(w.out.Bytes(), &word) == nil {
			return word
		}
	}
	return w.out.String()
}

// deepest is where optional properties stop, so that a schema that contains
// itself comes to an end.
const deepest = 5

func (w *writer) value(name string, s *schema, depth int) {
	s = s.resolve(w.root)
	switch {
	case s.Const != nil:
		w.out.Write(s.Const)
		return
	case len(s.Enum) > 0:
		w.out.Write(s.Enum[w.choose(s.Enum)])
		return
	}
	switch s.kind() {
	case "object":
		w.object(s, depth)
	case "array":
		w.array(name, s, depth)
	case "integer":
		w.out.WriteString(strconv.FormatInt(int64(w.number(name, s, true)), 10))
	case "number":
		w.out.WriteString(strconv.FormatFloat(w.number(name, s, false), 'f', -1, 64))
	case "boolean":
		w.out.WriteString(strconv.FormatBool(w.rng.IntN(2) == 0))
	case "null":
		w.out.WriteString("null")
	default:
		w.text(w.str(name, s))
	}
}

// choose prefers a value that the prompt names, or that is the language asked for.
func (w *writer) choose(enum []json.RawMessage) int {
	text := strings.ToLower(w.prompt.last())
	for i, raw := range enum {
		word := strings.ToLower(strings.Trim(string(raw), `"`))
		if word == w.lang.code || len(word) > 3 && strings.Count(text, word) == 1 {
			return i
		}
	}
	return w.rng.IntN(len(enum))
}

func (w *writer) object(s *schema, depth int) {
	w.out.WriteByte('{')
	first := true
	for _, p := range s.ordered() {
		if depth >= deepest && !slices.Contains(s.Required, p.name) {
			continue
		}
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		w.text(p.name)
		w.out.WriteByte(':')
		w.value(p.name, p.schema, depth+1)
	}
	w.out.WriteByte('}')
}

func (w *writer) array(name string, s *schema, depth int) {
	least, most := int(s.MinItems), int(s.MinItems)+3
	if s.MinItems == 0 && depth < deepest {
		least = 2
	}
	if s.MaxItems != nil {
		most = int(*s.MaxItems)
	}
	n := min(least+w.rng.IntN(2), most)
	if depth >= deepest {
		n = int(s.MinItems)
	}
	items := s.Items
	if items == nil {
		items = &schema{}
	}
	w.out.WriteByte('[')
	seen := map[string]bool{}
	for i := range max(n, len(s.PrefixItems)) {
		item := items
		if i < len(s.PrefixItems) {
			item = s.PrefixItems[i]
		}
		w.item(name, item, depth, i, s.UniqueItems, seen)
	}
	w.out.WriteByte(']')
}

// item writes one element; a repeated one gets some more tries when the
// elements must differ.
func (w *writer) item(name string, s *schema, depth, index int, unique bool, seen map[string]bool) {
	const tries = 50
	for try := range tries {
		start := w.out.Len()
		if index > 0 {
			w.out.WriteByte(',')
		}
		w.value(singular(name), s, depth+1)
		text := string(bytes.TrimPrefix(w.out.Bytes()[start:], []byte(",")))
		if !seen[text] || !unique && len(text) > 24 || try == tries-1 {
			seen[text] = true
			return
		}
		w.out.Truncate(start)
	}
}

func singular(name string) string { return strings.TrimSuffix(name, "s") }

func (w *writer) text(s string) {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	w.out.Write(b)
}
