package gemini

import (
	"strings"
	"unicode/utf8"
)

// Bounds of reading a part of an error body.
const (
	shredDepth   = 5       // JSON in a string in JSON …
	shredObjects = 8 << 10 // what more objects hold is not looked at
)

// object is one {…} of a body, or the text around them, with its plain fields.
type object struct {
	parent int    // index of what it stands in; -1 for the body itself
	name   string // the key that it stands under
	braced bool   // false for a text
	closed bool   // its end was seen: a field that is absent is really absent
	pairs  []pair
}

type pair struct{ key, value string }

// is says whether the key is one of those, however it is written.
func (p *pair) is(names ...string) bool {
	for _, name := range names {
		if strings.EqualFold(p.key, name) {
			return true
		}
	}
	return false
}

func (o *object) put(key, value string) {
	if o.pairs == nil {
		o.pairs = make([]pair, 0, 4)
	}
	o.pairs = append(o.pairs, pair{key, value})
}

// get gives a field by the first of its names that is there.
func (o *object) get(names ...string) string {
	for _, name := range names {
		for i := range o.pairs {
			if o.pairs[i].is(name) {
				return o.pairs[i].value
			}
		}
	}
	return ""
}

// shred takes apart whatever an error came in: JSON, JSON in strings of JSON,
// Python's repr, protobuf's text form, any of these in the middle of prose or
// cut off anywhere. It reads every level once and never fails. looked is how many
// bytes that took, over all levels.
func shred(body string) (objects []object, looked int) {
	s := shredder{objects: make([]object, 0, min(16+strings.Count(body, "{"), shredObjects))}
	s.read(body, -1, 0)
	return s.objects, s.looked
}

type shredder struct {
	objects []object
	looked  int
}

// reader goes through one text.
type reader struct {
	*shredder
	text  string
	at    int
	depth int
	open  []opened
	curly int    // of them that are no arrays
	last  string // the word or string before, which may be a key
	key   string // what the next value belongs to
	keyed bool   // after a colon or an equals sign
	loose bool   // after a word or a string: an apostrophe is one here
}

type opened struct {
	object int
	array  bool
	name   string
}

func (s *shredder) read(text string, parent, depth int) {
	if len(s.objects) >= shredObjects {
		return
	}
	s.objects = append(s.objects, object{parent: parent})
	s.looked += len(text)
	r := &reader{shredder: s, text: text, depth: depth, open: []opened{{object: len(s.objects) - 1}}}
	for r.at < len(text) {
		r.token()
	}
}

func (r *reader) top() opened { return r.open[len(r.open)-1] }

// token takes the next one and says what it means here.
func (r *reader) token() {
	switch c := r.text[r.at]; {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		r.at++
	case c == '{' || c == '[':
		r.at++
		r.begin(c == '[')
	case c == '}' || c == ']':
		r.at++
		r.end(c == ']')
	case c == ':' || c == '=':
		r.at++
		r.key, r.keyed, r.loose = r.last, r.last != "", false
	case c == ',' || c == ';' || c == '(' || c == ')':
		r.at++
		r.forget()
	case c == '"' || c == '`' || c == '\'' && !r.loose:
		r.value(r.quoted(c))
	default:
		r.value(r.word())
	}
}

func (r *reader) forget() { r.last, r.key, r.keyed, r.loose = "", "", false, false }

// begin opens an object or an array, named by its key, by the word before it
// (protobuf's text form) or by the array that it is in.
func (r *reader) begin(array bool) {
	top := r.top()
	name := r.last
	if r.keyed {
		name = r.key
	} else if top.array && name == "" {
		name = top.name
	}
	r.forget()
	next := opened{object: top.object, array: array, name: name}
	if !array {
		next.object = r.add(object{parent: top.object, name: name, braced: true})
		r.curly++
	}
	r.open = append(r.open, next)
}

// add gives the place of a new object; with no room left, that of the first, which
// takes no harm.
func (s *shredder) add(o object) int {
	if len(s.objects) >= shredObjects {
		return 0
	}
	s.objects = append(s.objects, o)
	return len(s.objects) - 1
}

// end closes what is open. What closes nothing is the end of something whose
// beginning was cut off, and a bracket does not close an object.
func (r *reader) end(array bool) {
	r.forget()
	if !array && r.curly == 0 {
		return // looking for one each time would take the square of the length
	}
	for i := len(r.open) - 1; i > 0; i-- {
		r.looked++
		if o := r.open[i]; o.array == array {
			if !array {
				r.objects[o.object].closed = true
				r.curly--
			}
			r.open = r.open[:i]
			return
		}
		if array {
			return
		}
	}
}

// value takes a word or a string, which is a field's value after a key and may
// itself be a key. A string is read for what is in it.
func (r *reader) value(v string, text bool) {
	o := r.top().object
	if r.keyed {
		r.objects[o].put(r.key, v)
	}
	if !r.objects[o].braced && quotaWord(v) && !strings.Contains(lower(r.key), "quota") && r.key != "metric" {
		r.objects[o].put("quotaId", v)
	}
	if text && r.depth < shredDepth && strings.ContainsAny(v, "{:=` ") {
		r.read(v, o, r.depth+1)
	}
	r.last, r.key, r.keyed, r.loose = v, "", false, true
}

// quoted reads a string without its quotes and escapes. One without an end
// goes on to the end of the text.
func (r *reader) quoted(quote byte) (string, bool) {
	start := r.at + 1
	for i := start; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			i++
		case quote:
			r.at = i + 1
			return unescape(r.text[start:i]), true
		}
	}
	r.at = len(r.text)
	return unescape(r.text[start:]), true
}

// word reads up to the next delimiter.
func (r *reader) word() (string, bool) {
	n := strings.IndexAny(r.text[r.at:], " \n\t\r{}[]:=,;()\"`")
	if n < 0 {
		n = len(r.text) - r.at
	}
	n = max(n, 1)
	w := r.text[r.at : r.at+n]
	r.at += n
	return strings.TrimRight(w, ".'"), false
}

// unescape takes the escapes of JSON and Python out of a string.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		r, n := escaped([]byte(s[i:min(len(s), i+6)]))
		if !utf8.ValidRune(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		i += n - 1
	}
	return b.String()
}

// quotaWord holds for a quota's id or metric that stands alone in a text.
func quotaWord(s string) bool {
	return len(s) > 12 && (strings.Contains(s, "PerDay") || strings.Contains(s, "PerMinute") ||
		strings.Contains(s, "_per_day") || strings.Contains(s, "_per_minute") || strings.Contains(s, "StorageTokensPerModel"))
}
