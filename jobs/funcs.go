package jobs

import (
	"fmt"
	"reflect"
	"strings"
	"text/template"
)

// functions are what templates have besides text/template's own; eq, ne, lt,
// le, gt, ge, index and printf replace those of the same name.
//
//	lower upper trim S          trim cuts white space at both ends
//	replace OLD NEW S           all of them
//	contains SUB S              and hasPrefix, hasSuffix
//	split SEP S · join SEP LIST
//	truncate N S                at most N characters, never half an emoji or accent
//	indent N S                  N spaces before each line
//	default D V                 D where V is empty, null, 0 or false
//	has ROW NAME · get ROW NAME whether there is a field; the field, or null: {{if has . "city"}}
//	index V KEY…                an item of a list or object; an error where there is none
//	json V                      V as JSON
//	printf FORMAT V…            an error where a verb does not fit its value
//	eq ne lt le gt ge           numbers by value, whatever way they are written
//
// The last argument may come from a pipe: {{.title | trim | truncate 80}}.
var functions = template.FuncMap{
	"lower":     func(v any) string { return strings.ToLower(text(v)) },
	"upper":     func(v any) string { return strings.ToUpper(text(v)) },
	"trim":      func(v any) string { return strings.TrimSpace(text(v)) },
	"replace":   func(old, with string, v any) string { return strings.ReplaceAll(text(v), old, with) },
	"contains":  func(sub string, v any) bool { return strings.Contains(text(v), sub) },
	"hasPrefix": func(p string, v any) bool { return strings.HasPrefix(text(v), p) },
	"hasSuffix": func(p string, v any) bool { return strings.HasSuffix(text(v), p) },
	"split":     split,
	"join":      join,
	"truncate":  func(n int, v any) string { return truncate(text(v), n) },
	"indent":    indent,
	"default":   fallback,
	"has":       has,
	"get":       get,
	"index":     index,
	"json":      jsonText,
	"printf":    printf,
	"eq":        equal,
	"ne":        func(a, b any) bool { return !same(a, b) },
	"lt":        func(a, b any) (bool, error) { c, err := compare(a, b); return c < 0, err },
	"le":        func(a, b any) (bool, error) { c, err := compare(a, b); return c <= 0, err },
	"gt":        func(a, b any) (bool, error) { c, err := compare(a, b); return c > 0, err },
	"ge":        func(a, b any) (bool, error) { c, err := compare(a, b); return c >= 0, err },
}

func split(sep string, v any) List {
	l := List{}
	for part := range strings.SplitSeq(text(v), sep) {
		l = append(l, part)
	}
	return l
}

func join(sep string, v any) (string, error) {
	l, ok := v.(List)
	if !ok {
		return "", fmt.Errorf("join wants a list, not %s", kindOf(v))
	}
	parts := make([]string, len(l))
	for i, one := range l {
		parts[i] = text(one)
	}
	return strings.Join(parts, sep), nil
}

func indent(n int, v any) (string, error) {
	if n < 0 || n > 1000 {
		return "", fmt.Errorf("indent by %d: want 0 to 1000", n)
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text(v), "\n", "\n"+pad), nil
}

func fallback(d, v any) any {
	if truth, ok := template.IsTrue(v); ok && truth {
		return v
	}
	return d
}

func has(o Object, name string) bool { _, ok := o[name]; return ok }

func get(o Object, name string) any {
	if v, ok := o[name]; ok {
		return v
	}
	return Null("")
}

// index is text/template's, but what is not there is an error: theirs prints
// "<no value>" into the prompt.
func index(v any, keys ...any) (any, error) {
	for _, k := range keys {
		next, err := item(v, k)
		if err != nil {
			return nil, err
		}
		v = next
	}
	return v, nil
}

func item(v, key any) (any, error) {
	if o, ok := v.(Object); ok {
		if got, ok := o[text(key)]; ok {
			return got, nil
		}
		return nil, &FieldError{Field: text(key)}
	}
	l, ok := v.(List)
	if !ok {
		return nil, fmt.Errorf("index wants a list or an object, not %s", kindOf(v))
	}
	r, ok := rational(key)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return nil, fmt.Errorf("index of a list wants a whole number, not %s", text(key))
	}
	i := r.Num().Int64()
	if i < 0 || i >= int64(len(l)) {
		return nil, fmt.Errorf("item %d of a list of %d (the first is 0)", i, len(l))
	}
	return l[i], nil
}

// kindOf names a value's type as a user of JSON does.
func kindOf(v any) string {
	switch v.(type) {
	case nil, Null:
		return "null"
	case Number, zero:
		return "a number"
	case List:
		return "a list"
	case Object:
		return "an object"
	}
	return "a " + reflect.TypeOf(v).Kind().String()
}
