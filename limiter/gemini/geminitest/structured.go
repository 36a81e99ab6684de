package geminitest

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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

// number keeps to the bounds; without any, a share is between 0 and 1 and
// everything else small.
func (w *writer) number(name string, s *schema, whole bool) float64 {
	low, high := 1.0, 10.0
	if containsAny(name, "score", "confidence", "probability", "share", "ratio") {
		low, high = 0, 1
	}
	step := 0.01
	if whole {
		step = 1
	}
	if s.MultipleOf > 0 {
		step = s.MultipleOf
	}
	low, high = bounds(s, low, high, step)
	n := math.Floor((high-low)/step + 1e-9)
	x := low + step*float64(w.rng.Int64N(int64(max(n, 0))+1))
	if s.MultipleOf > 0 || whole {
		x = math.Ceil(x/step-1e-9) * step
	}
	return math.Round(min(x, high)*1e6) / 1e6
}

func bounds(s *schema, low, high, step float64) (float64, float64) {
	width := high - low
	bound := func(p, exclusive *float64, sign float64) *float64 {
		if exclusive == nil {
			return p
		}
		x := *exclusive + sign*step
		return &x
	}
	least, most := bound(s.Minimum, s.ExclusiveMinimum, 1), bound(s.Maximum, s.ExclusiveMaximum, -1)
	switch {
	case least != nil && most != nil:
		return *least, *most
	case least != nil:
		return max(*least, low), max(*least, low) + width
	case most != nil:
		return min(low, *most), min(high, *most)
	}
	return low, high
}

// str writes a string of the right kind, by format and pattern, else by name.
func (w *writer) str(name string, s *schema) string {
	text := w.byFormat(s)
	if text == "" {
		text = w.byName(strings.ToLower(name), s.MaxLength)
	}
	for s.Pattern == "" && utf8.RuneCountInString(text) < int(s.MinLength) {
		text += " " + w.word()
	}
	if s.MaxLength != nil && utf8.RuneCountInString(text) > int(*s.MaxLength) {
		text = string([]rune(text)[:*s.MaxLength])
	}
	return text
}

func (w *writer) byFormat(s *schema) string {
	if s.Pattern != "" {
		return w.matching(s.Pattern, s)
	}
	switch s.Format {
	case "date-time":
		return "2026-11-0" + strconv.Itoa(1+w.rng.IntN(9)) + "T08:30:00Z"
	case "date":
		return "2026-11-0" + strconv.Itoa(1+w.rng.IntN(9))
	case "time":
		return "08:30:00Z"
	case "duration":
		return "PT" + strconv.Itoa(1+w.rng.IntN(59)) + "M"
	case "email":
		return "info@example.com"
	case "uri":
		return "https://example.com/" + strconv.Itoa(w.rng.IntN(1000))
	case "uuid":
		const hex = "0123456789abcdef"
		id := []byte("xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx")
		for i := range id {
			if id[i] == 'x' {
				id[i] = hex[w.rng.IntN(len(hex))]
			}
		}
		return string(id)
	}
	return ""
}

func (w *writer) byName(name string, most *flexInt) string {
	switch {
	case (name == "id" || strings.HasSuffix(name, "_id") || name == "sku") && w.id != "":
		return w.id
	case containsAny(name, "lang", "locale"):
		return w.lang.code
	case containsAny(name, "title", "headline", "subject"):
		return w.word() + " " + w.word()
	case containsAny(name, "tag", "keyword", "label", "name", "topic", "category", "word"):
		return w.word()
	case most != nil && *most < 40:
		return w.word()
	}
	return w.lang.mark + w.sentence()
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
